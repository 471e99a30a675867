#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <limits>
#include <map>
#include <set>
#include <utility>

#include "vernier/error.h"
#include "vernier/model/insert_switches.h"
#include "vernier/model/switch_graph.h"
#include "vernier/model/switch_nodes.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Whether operators read the weight's stored integers.
bool is_operand(const QuantizedWeight& weight) {
  return weight.form != WeightForm::dequantized && weight.form != WeightForm::fake_quantized;
}

// Calls visit(graph, path) for the graph and its subgraphs, inner ones first. Paths are as in
// all_subgraphs().
template <typename Visit>
void visit_graphs(GraphProto& graph, const std::string& path, const Visit& visit) {
  for (NodeProto& node : *graph.mutable_node())
    for_each_subgraph(node, [&](GraphProto& inner, const std::string& attribute) {
      visit_graphs(inner, subgraph_path(path, node, attribute), visit);
    });
  visit(graph, path);
}

class ModelSwitches {
 public:
  ModelSwitches(const ModelIndex& index, const Quantization& quantization,
                FloatCounterparts counterparts)
      : index_(index), model_(index.model().clone()), biases_(std::move(counterparts.biases)) {
    for (std::size_t i = 0; i < quantization.activations.size(); ++i)
      add(quantization.activations[i], counterparts.folded[i]);
    for (std::size_t i = 0; i < quantization.weights.size(); ++i)
      add({&quantization.weights[i], biases_[i]}, std::move(counterparts.weights[i]));
    for (const UnreadQuantization& unread : quantization.unread)
      list_.unswitched.push_back({Unswitched::Reason::unknown_operator, unread.subject});
  }

  SwitchedModel insert() && {
    visit_graphs(model_.graph(), "", [&](GraphProto& graph, const std::string& path) {
      for (const GraphIndex& index : index_.graphs())
        if (index.path() == path) return switch_graph(graph, index, list_, operands_);
    });
    for (Tensor& weight : list_.weights)  // each is freed at once: together they may take gigabytes
      *model_.graph().add_initializer() = make_tensor_proto(std::exchange(weight, {}));
    import_switch_domain(model_.proto());
    remove_unplaced();
    std::erase_if(list_.unswitched, [&](const Unswitched& each) {
      return list_.computed_weights.contains(each.subject);
    });
    return {std::move(model_), std::move(list_.switches), std::move(list_.unswitched)};
  }

 private:
  void add(const QuantizedActivation& activation, const std::optional<RealRange>& folded) {
    const std::size_t index = list_.switches.size();
    list_.activations.emplace(activation.dynamic ? activation.node : activation.stored, index);
    const std::string& written = activation.before.empty() ? activation.stored : activation.before;
    const FoundTensor* writer = index_.tensor(written);
    Switch added{.kind = Switch::Kind::activation,
                 .name = activation.name,
                 .node = writer ? node_label(*writer->node) : "",
                 .op = writer ? writer->node->op_type() : "",
                 .is_in_file = true,
                 .is_dynamic = activation.dynamic,
                 .folded = folded};
    if (!activation.dynamic) added.in_file = activation.quantizer;
    list_.switches.push_back(std::move(added));
  }

  void add(const OperandWeight& operand, std::optional<Tensor> real) {
    const QuantizedWeight& weight = *operand.weight;
    if (is_operand(weight)) operands_.emplace(weight.name, operand);
    if (list_.weight_switches.contains(weight.name)) return;
    if (!real) {
      list_.unswitched.push_back({Unswitched::Reason::no_float_counterpart, weight.name});
      return;
    }
    list_.weight_switches.emplace(weight.name, list_.switches.size());
    list_.add_weight(float_name(weight.name), *std::move(real));
    const FoundNode* reader = index_.node(weight.reader);
    list_.switches.push_back({.kind = Switch::Kind::weight,
                              .name = weight.name,
                              .node = weight.reader,
                              .op = reader ? reader->node->op_type() : "",
                              .in_file = weight.quantizer,
                              .is_in_file = true,
                              .reader = weight.reader,
                              .reader_input = weight.reader_input,
                              .channel_axis = weight.channel_axis});
  }

  // Removes the switches of operators that could not be rewritten: no node has them.
  void remove_unplaced() {
    std::set<std::int64_t> placed;
    const auto each_switch = [&](const auto& visit) {
      visit_graphs(model_.graph(), "", [&](GraphProto& graph, const std::string&) {
        for (NodeProto& node : *graph.mutable_node())
          if (node.domain() == switch_domain) visit(*node.mutable_attribute(0)->mutable_ints());
      });
    };
    each_switch([&](auto& indices) { placed.insert(indices.begin(), indices.end()); });
    std::map<std::int64_t, std::int64_t> numbers;
    std::vector<Switch> kept;
    for (std::size_t i = 0; i < list_.switches.size(); ++i) {
      if (placed.contains(static_cast<std::int64_t>(i))) {
        numbers[static_cast<std::int64_t>(i)] = std::ssize(kept);
        kept.push_back(std::move(list_.switches[i]));
      } else {
        list_.unswitched.push_back({Unswitched::Reason::unknown_operator, list_.switches[i].name});
      }
    }
    each_switch([&](auto& indices) {
      for (std::int64_t& index : indices) index = numbers[index];
    });
    list_.switches = std::move(kept);
  }

  const ModelIndex& index_;
  Model model_;
  SwitchList list_;
  std::vector<std::vector<Tensor>> biases_;  // of the operands
  std::map<std::string, OperandWeight> operands_;
};

}  // namespace

void require_room_for_floats(const ModelIndex& quantized_model, const Quantization& quantization) {
  std::map<std::string, std::int64_t> bytes;
  for (const QuantizedWeight& weight : quantization.weights)
    if (const Weight* stored = quantized_model.weight(weight.name)) {
      const std::int64_t held = weight_bytes(*stored->proto);
      const bool is_float = weight.form == WeightForm::fake_quantized;
      const std::int64_t floats = is_float ? held : held * 32 / bits(weight.quantizer.dtype);
      bytes[weight.name] = is_operand(weight) ? 2 * floats : floats;  // also dequantized
    }
  std::int64_t all = 0;
  for (const auto& [name, each] : bytes) all += each;
  if (all > std::numeric_limits<std::int32_t>::max())
    throw Error(
        fmt::format("[memory] {}: its quantized weights take {:.1f} GB in float32, more than the 2 "
                    "GB that ONNX "
                    "Runtime takes from memory",
                    quantized_model.model().name(), static_cast<double>(all) / 1e9));
}

const Tensor* nearest_bias(std::span<const Tensor> biases, const TensorView& stored) {
  const std::vector<double> expected = to_f64(stored);
  const Tensor* nearest = nullptr;
  double least = INFINITY;
  for (const Tensor& bias : biases) {
    if (bias.size() != stored.size()) continue;
    const std::vector<double> values = to_f64(bias);
    double noise = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      noise += (values[i] - expected[i]) * (values[i] - expected[i]);
    if (nearest && !(noise < least)) continue;
    nearest = &bias;
    least = noise;
  }
  return nearest;
}

SwitchedModel insert_switches(const ModelIndex& quantized_model, const Quantization& quantization,
                              FloatCounterparts counterparts) {
  return ModelSwitches(quantized_model, quantization, std::move(counterparts)).insert();
}

}  // namespace vernier
