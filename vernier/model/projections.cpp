#include "vernier/model/projections.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "vernier/model/index.h"

namespace vernier {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 4> fused_attention = {
    "GroupQueryAttention", "MultiHeadAttention", "Attention", "PackedMultiHeadAttention"};
constexpr std::array<std::string_view, 8> normalisations = {"ReduceMean",
                                                            "LayerNormalization",
                                                            "SimplifiedLayerNormalization",
                                                            "RMSNormalization",
                                                            "SkipLayerNormalization",
                                                            "SkipSimplifiedLayerNormalization",
                                                            "GroupNormalization",
                                                            "ReduceL2"};
constexpr std::array<std::string_view, 13> activation_functions = {
    "Sigmoid", "Gelu", "FastGelu", "BiasGelu", "QuickGelu", "Erf", "Tanh",
    "Relu",    "Silu", "Swish",    "Elu",      "HardSwish", "Mish"};
constexpr std::array<std::string_view, 9> carrying_operators = {
    "DequantizeLinear", "QuantizeLinear", "DynamicQuantizeLinear",
    "Reshape",          "Flatten",        "Squeeze",
    "Unsqueeze",        "Cast",           "Identity"};
// Operators that end a walk: their outputs are sizes or comparisons, not values of the tensor.
constexpr std::array<std::string_view, 5> ends = {"Shape", "Size", "Equal", "Greater", "IsNaN"};

// The outputs that hold elements of the inputs: not a dynamically computed scale or zero point.
std::vector<std::string> carried_outputs(const NodeProto& node) {
  std::vector<std::string> outputs(node.output().begin(), node.output().end());
  if (is_op(node, "DynamicQuantizeLinear")) outputs.resize(1);
  return outputs;
}

// The two operands of a matrix product.
struct Operands {
  std::string first, second;
};
std::optional<Operands> operands_of(const NodeProto& node) {
  const std::string& op = node.op_type();
  if (op == "QLinearMatMul") return Operands{input_name(node, 0), input_name(node, 3)};
  if (op == "QGemm") return Operands{input_name(node, 0), input_name(node, 3)};
  if (op == "MatMul" || op == "Gemm" || op == "MatMulInteger" || op == "MatMulIntegerToFloat" ||
      op == "DynamicQuantizeMatMul" || op == "MatMulNBits" || op == "FusedMatMul")
    return Operands{input_name(node, 0), input_name(node, 1)};
  return std::nullopt;
}

// Where a forward walk ended: at an input of a product or attention, or at a graph output.
struct Reached {
  const NodeProto* node = nullptr;  // null for a graph output
  int input = 0;
  bool activated = false, split = false;  // passed through an activation function, or a Split
};

class ProjectionFinder {
 public:
  explicit ProjectionFinder(const GraphIndex& graph) : graph_(graph) {
    int number = 0;
    for (const NodeProto& node : graph_.graph().node()) {
      order_[&node] = number++;
      const auto operands = operands_of(node);
      if (is_one_of(node, fused_attention)) attention_.push_back(&node);
      if (!operands) continue;
      if (is_constant(operands->second))
        products_.push_back(&node);
      else
        activation_products_.insert(&node);
    }
  }

  std::vector<PlacedProjection> find() {
    find_attention();
    if (attention_.empty()) return {};
    for (const NodeProto* product : products_) place_at_attention(*product);
    for (const NodeProto* product : products_)
      if (!placed_.contains(product)) place_behind_attention(*product);
    for (const NodeProto* product : products_)
      if (!placed_.contains(product)) place_in_mlp(*product);
    number_mlp_layers();
    add_tensors_between();
    std::vector<std::pair<int, PlacedProjection>> ordered;
    for (const auto& [node, placed] : placed_) ordered.emplace_back(order_[node], placed);
    std::ranges::stable_sort(ordered, {}, [](const auto& entry) { return entry.first; });
    std::vector<PlacedProjection> result;
    for (auto& [number, placed] : ordered) {
      placed.tensor = graph_.label(placed.tensor);
      result.push_back(std::move(placed));
    }
    return result;
  }

 private:
  bool is_constant(const std::string& tensor) const {
    return !tensor.empty() && (graph_.constant(tensor) || graph_.weight_source(tensor));
  }
  bool is_model_input(const std::string& tensor) const {
    const GraphIndex* graph = &graph_;
    while (graph->outer() && !graph->defines(tensor)) graph = graph->outer();
    return graph->is_input(tensor);
  }
  bool is_product(const NodeProto& node) const {
    return std::ranges::find(products_, &node) != products_.end();
  }
  // Whether a walk stops at the node: at matrix products and attention.
  bool stops(const NodeProto& node) const {
    return is_product(node) || activation_products_.contains(&node) ||
           is_one_of(node, fused_attention);
  }

  std::vector<Reached> forward(const NodeProto& from) const {
    std::vector<Reached> reached;
    std::set<std::tuple<const NodeProto*, bool, bool>> seen;
    const std::function<void(const NodeProto&, bool, bool)> visit =
        [&](const NodeProto& node, bool activated, bool split) {
          if (!seen.emplace(&node, activated, split).second) return;
          for (const std::string& output : carried_outputs(node)) {
            if (graph_.is_output(output)) reached.push_back({nullptr, 0, activated, split});
            for (const NodeProto* reader : graph_.consumers(output)) {
              if (is_one_of(*reader, ends)) continue;
              if (!stops(*reader)) {
                visit(*reader, activated || is_one_of(*reader, activation_functions),
                      split || is_op(*reader, "Split"));
                continue;
              }
              for (int i = 0; i < reader->input_size(); ++i)
                if (reader->input(i) == output) reached.push_back({reader, i, activated, split});
            }
          }
        };
    visit(from, false, false);
    return reached;
  }

  // The nearest products, attentions and graph inputs that a tensor is computed from, and whether
  // there is a normalisation or a Softmax in between.
  struct Sources {
    std::set<const NodeProto*> nodes;
    std::set<std::string> inputs;
    bool normalised = false, softmax = false;
  };
  Sources backward(const std::string& tensor) const {
    Sources sources;
    std::set<std::string> seen;
    const std::function<void(const std::string&)> visit = [&](const std::string& name) {
      if (name.empty() || !seen.insert(name).second) return;
      const NodeProto* node = graph_.producer(name);
      if (!node) {
        if (is_model_input(name)) sources.inputs.insert(name);
        return;
      }
      if (is_one_of(*node, ends) || std::ranges::count(carried_outputs(*node), name) == 0) return;
      if (stops(*node)) {
        sources.nodes.insert(node);
        return;
      }
      sources.normalised |= is_one_of(*node, normalisations);
      sources.softmax |= is_op(*node, "Softmax");
      for (const std::string& input : node->input()) visit(input);
    };
    visit(tensor);
    return sources;
  }

  bool leads_to_softmax(const NodeProto& product) const {
    std::set<const NodeProto*> seen;
    std::function<bool(const NodeProto&)> visit = [&](const NodeProto& node) {
      for (const std::string& output : carried_outputs(node))
        for (const NodeProto* reader : graph_.consumers(output)) {
          if (!seen.insert(reader).second || is_one_of(*reader, ends)) continue;
          if (is_op(*reader, "Softmax")) return true;
          if (!stops(*reader) && visit(*reader)) return true;
        }
      return false;
    };
    return visit(product);
  }

  // Attention has two products of activations: scores (queries times keys), which lead to a
  // Softmax, and the context (weights times values), which reads it.
  void find_attention() {
    std::vector<const NodeProto*> scores;
    for (const NodeProto* product : activation_products_)
      (leads_to_softmax(*product) ? scores : contexts_).push_back(product);
    std::erase_if(contexts_, [&](const NodeProto* product) {
      const auto operands = operands_of(*product);
      return !backward(operands->first).softmax && !backward(operands->second).softmax;
    });
    for (const NodeProto* product : scores) attention_.push_back(product);
    std::ranges::sort(attention_, {}, [&](const NodeProto* node) { return order_.at(node); });
    std::ranges::sort(contexts_, {}, [&](const NodeProto* node) { return order_.at(node); });
    for (std::size_t i = 0; i < attention_.size(); ++i) layer_of_[attention_[i]] = int(i);
    // A context is in the layer of the scores whose Softmax it reads.
    for (const NodeProto* context : contexts_) {
      const auto operands = operands_of(*context);
      for (const std::string& operand : {operands->first, operands->second})
        for (const NodeProto* source : backward(operand).nodes)
          if (layer_of_.contains(source) && !is_context(*source))
            layer_of_[context] = layer_of_[source];
    }
  }

  bool is_context(const NodeProto& node) const {
    return std::ranges::find(contexts_, &node) != contexts_.end();
  }

  // Which input of the scores holds the keys: the one that a cache flows into, else the second.
  int key_input(const NodeProto& scores) const {
    const auto operands = operands_of(scores);
    const auto holds_cache = [&](const std::string& operand) {
      return std::ranges::any_of(backward(operand).inputs, [&](const std::string& input) {
        const auto dtype = graph_.dtype(input);
        return dtype && is_float(*dtype);
      });
    };
    return holds_cache(operands->first) && !holds_cache(operands->second) ? 0 : 1;
  }

  void place(const NodeProto& product, Projection kind, int layer) {
    placed_[&product] = {.kind = kind,
                         .layer = layer,
                         .node = node_label(product),
                         .tensor = product.output(0),
                         .weight = operands_of(product)->second};
  }

  // Queries, keys and values.
  void place_at_attention(const NodeProto& product) {
    std::set<Projection> kinds;
    int layer = -1;
    for (const Reached& reached : forward(product)) {
      if (!reached.node || !layer_of_.contains(reached.node)) continue;
      const int here = layer_of_.at(reached.node);
      if (layer >= 0 && here != layer) return;  // read by several layers: rotary embedding angles
      layer = here;
      if (is_one_of(*reached.node, fused_attention)) {
        if (reached.input < 3)
          kinds.insert(
              std::array{Projection::query, Projection::key, Projection::value}[reached.input]);
        if (input_name(*reached.node, 1).empty()) kinds.insert(Projection::query_key_value);
      } else if (is_context(*reached.node)) {
        kinds.insert(Projection::value);
      } else {
        kinds.insert(reached.input == key_input(*reached.node) ? Projection::key
                                                               : Projection::query);
      }
    }
    if (kinds.empty()) return;
    place(product, kinds.size() > 1 ? Projection::query_key_value : *kinds.begin(), layer);
  }

  void place_behind_attention(const NodeProto& product) {
    const Sources sources = backward(operands_of(product)->first);
    std::optional<int> layer;
    for (const NodeProto* source : sources.nodes)
      if (is_context(*source) || is_one_of(*source, fused_attention))
        layer = layer_of_.contains(source) ? layer_of_.at(source) : -1;
    // An output projection reads only the result of attention, not a residual sum with products.
    const bool only = std::ranges::none_of(
        sources.nodes, [&](const NodeProto* source) { return is_product(*source); });
    if (layer && only && !sources.normalised) return place(product, Projection::output, *layer);
    const std::vector<Reached> reached = forward(product);
    const bool ends_there = !reached.empty() && std::ranges::all_of(reached, [](const Reached& r) {
      return r.node == nullptr;
    });
    if (ends_there) place(product, Projection::head, -1);
  }

  // A product that reads one or two unplaced products without a normalisation in between is a down
  // projection; the products that it reads are gate and up.
  void place_in_mlp(const NodeProto& product) {
    const Sources sources = backward(operands_of(product)->first);
    std::vector<const NodeProto*> before;
    for (const NodeProto* source : sources.nodes)
      if (is_product(*source) && !placed_.contains(source)) before.push_back(source);
    if (sources.normalised || before.empty() || before.size() > 2 ||
        before.size() != sources.nodes.size())
      return;
    place(product, Projection::down, -1);
    for (const NodeProto* source : before) {
      bool activated = false, split = false;
      for (const Reached& reached : forward(*source))
        if (reached.node == &product) {
          activated |= reached.activated;
          split |= reached.split;
        }
      const Projection kind = before.size() == 2 ? activated ? Projection::gate : Projection::up
                              : split            ? Projection::gate_up
                                                 : Projection::up;
      place(*source, kind, -1);
    }
  }

  // The number of attentions that a node depends on.
  int attentions_before(const NodeProto& node) const {
    std::set<std::string> seen;
    std::set<int> layers;
    std::vector<std::string> open(node.input().begin(), node.input().end());
    while (!open.empty()) {
      const std::string name = open.back();
      open.pop_back();
      if (name.empty() || !seen.insert(name).second) continue;
      const NodeProto* producer = graph_.producer(name);
      if (!producer) continue;
      if (const auto layer = layer_of_.find(producer); layer != layer_of_.end())
        layers.insert(layer->second);
      open.insert(open.end(), producer->input().begin(), producer->input().end());
    }
    return int(layers.size());
  }

  // An MLP usually depends on its layer's attention. If no MLP depends on the last attention, MLPs
  // run in parallel with the attention of their layer.
  void number_mlp_layers() {
    std::map<const NodeProto*, int> behind;
    int most = 0;
    for (const auto& [node, placed] : placed_)
      if (placed.layer < 0 && placed.kind != Projection::head)
        most = std::max(most, behind[node] = attentions_before(*node));
    const bool beside = most < std::ssize(attention_);
    for (const auto& [node, count] : behind) placed_[node].layer = beside ? count : count - 1;
  }

  // Adds embeddings, and the normalised tensors that projections read.
  void add_tensors_between() {
    std::map<const NodeProto*, PlacedProjection> more;
    for (const auto& [node, placed] : placed_) {
      if (placed.kind == Projection::down || placed.kind == Projection::output) continue;
      const std::string input = operands_of(*node)->first;
      const std::string read = carried_from(input);
      const NodeProto* writer = graph_.producer(read);
      if (!writer || stops(*writer) || !backward(read).normalised) continue;
      more[writer] = {.kind = Projection::norm,
                      .layer = placed.layer,
                      .node = node_label(*writer),
                      .tensor = read,
                      .weight = {}};
    }
    for (const NodeProto& node : graph_.graph().node()) {
      if (!is_op(node, "Gather") || !is_constant(input_name(node, 0))) continue;
      const auto shape = graph_.declared_shape(input_name(node, 0));
      const NodeProto* indices = graph_.producer(carried_from(input_name(node, 1)));
      if (shape && shape->size() == 2 && !indices)
        more[&node] = {.kind = Projection::embedding,
                       .layer = -1,
                       .node = node_label(node),
                       .tensor = node.output(0),
                       .weight = input_name(node, 0)};
    }
    placed_.merge(more);
  }

  // The tensor before quantizers, casts and changes of shape.
  std::string carried_from(const std::string& tensor) const {
    const NodeProto* writer = graph_.producer(tensor);
    return writer && is_one_of(*writer, carrying_operators) ? carried_from(input_name(*writer, 0))
                                                            : tensor;
  }

  const GraphIndex& graph_;
  std::map<const NodeProto*, int> order_;
  std::vector<const NodeProto*> products_;          // with a constant operand, in graph order
  std::set<const NodeProto*> activation_products_;  // of two activations
  std::vector<const NodeProto*> attention_;         // scores and fused attention, in graph order
  std::vector<const NodeProto*> contexts_;
  std::map<const NodeProto*, int> layer_of_;  // of attention_ and contexts_
  std::map<const NodeProto*, PlacedProjection> placed_;
};

}  // namespace

std::string_view projection_name(Projection projection) {
  constexpr std::array<std::string_view, 12> names = {
      "embedding", "norm", "q", "k", "v", "qkv", "o", "gate", "up", "gate_up", "down", "head"};
  return names[static_cast<std::size_t>(projection)];
}

std::string projection_label(const PlacedProjection& projection) {
  const std::string_view name = projection_name(projection.kind);
  return projection.layer < 0 ? std::string(name)
                              : fmt::format("layer {} {}", projection.layer, name);
}

std::vector<PlacedProjection> find_projections(const ModelIndex& model) {
  std::vector<PlacedProjection> found;
  for (const GraphIndex& graph : model.graphs())
    std::ranges::move(ProjectionFinder(graph).find(), std::back_inserter(found));
  return found;
}

}  // namespace vernier
