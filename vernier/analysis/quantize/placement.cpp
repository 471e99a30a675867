#include "vernier/analysis/quantize/placement.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "vernier/error.h"
#include "vernier/model/index.h"
#include "vernier/tensor/name_pattern.h"

namespace vernier {
namespace {

constexpr std::array computing_ops = {"Conv", "ConvTranspose", "Gemm", "MatMul"};

// Operators whose output holds values of their first input and no others.
constexpr std::array moving_ops = {"MaxPool",   "Reshape", "Transpose",    "Flatten",     "Squeeze",
                                   "Unsqueeze", "Slice",   "DepthToSpace", "SpaceToDepth"};

// Further operators that ONNX Runtime's quantizer puts quantizers around.
constexpr std::array other_ops = {"Add",
                                  "Mul",
                                  "Sub",
                                  "Div",
                                  "Relu",
                                  "Clip",
                                  "AveragePool",
                                  "Concat",
                                  "Sigmoid",
                                  "GlobalAveragePool",
                                  "Softmax",
                                  "LeakyRelu",
                                  "Pad",
                                  "HardSigmoid",
                                  "HardSwish",
                                  "Resize",
                                  "LayerNormalization",
                                  "InstanceNormalization",
                                  "ReduceMean"};

template <std::size_t N>
bool is_any(const NodeProto& node, const std::array<const char*, N>& ops) {
  return std::ranges::any_of(ops, [&](const char* op) { return is_op(node, op); });
}

std::int64_t size_of(const TensorProto& tensor) {
  std::int64_t size = 1;
  for (const std::int64_t dim : tensor.dims()) size *= dim;
  return size;
}

class QuantizerPlacer {
 public:
  QuantizerPlacer(const ModelIndex& index, const PlacementOptions& options)
      : index_(index), graph_(index.main()), options_(options) {
    require_kept_nodes();
  }

  PlacementPlan plan() {
    for (const NodeProto& node : graph_.graph().node())
      if (is_any(node, computing_ops) && !is_kept(node)) place_node(node);
    if (options_.activations) {
      if (options_.placement == QuantizerPlacement::all) place_others();
      if (options_.placement != QuantizerPlacement::inputs) place_outputs();
      extend_backwards();
    }
    return finish();
  }

 private:
  const NodeProto& node(int number) const { return graph_.graph().node(number); }

  // The inputs of the main graph that read the tensor.
  std::vector<ReaderInput> readers_of(const std::string& tensor) const {
    std::vector<ReaderInput> readers;
    for (const NodeProto* reader : graph_.consumers(tensor))
      for (int i = 0; i < reader->input_size(); ++i)
        if (reader->input(i) == tensor) readers.push_back({graph_.position(*reader), i});
    return readers;
  }

  bool is_kept(const NodeProto& node) const {
    return matches_any_name(options_.keep_nodes, node_label(node));
  }

  void require_kept_nodes() const {
    for (const std::string& pattern : options_.keep_nodes)
      if (std::ranges::none_of(graph_.graph().node(), [&](const NodeProto& node) {
            return matches_name(pattern, node_label(node));
          }))
        throw Error(
            fmt::format("[quantize] keep in float '{}': no node of the prepared model has that "
                        "name; `vernier inspect` on the .float.onnx beside the result lists them",
                        pattern));
  }

  const TensorProto* float_constant(const std::string& tensor) const {
    const TensorProto* constant = graph_.constant(tensor);
    return constant && constant->data_type() == TensorProto::FLOAT ? constant : nullptr;
  }

  bool is_activation(const std::string& tensor) const {
    return !tensor.empty() && !graph_.constant(tensor) && graph_.dtype(tensor) == DType::f32;
  }

  // A node is quantized if each operand is a float32 activation or a float32 constant, and at most
  // one is constant. Conv, ConvTranspose and Gemm need a constant weight.
  void place_node(const NodeProto& node) {
    if (node.input_size() < 2 || node.output_size() < 1) return;
    const bool is_matmul = is_op(node, "MatMul");
    std::array<const TensorProto*, 2> constants = {float_constant(node.input(0)),
                                                   float_constant(node.input(1))};
    for (int i = 0; i < 2; ++i)
      if (!constants[i] && !is_activation(node.input(i))) return;
    if (constants[0] && constants[1]) return;
    if (!is_matmul && (constants[0] || !constants[1])) return;  // the weight is not constant
    if (!options_.activations && !constants[0] && !constants[1]) return;
    PlacedNode placed{.node = graph_.position(node),
                      .name = node_label(node),
                      .op = node.op_type(),
                      .output = node.output(0),
                      .quantized_output = clipped_output(node.output(0))};
    for (int i = 0; i < 2; ++i) {
      const ReaderInput reader{placed.node, i};
      if (constants[i])
        placed.weights.push_back(add_weight(node, *constants[i], reader));
      else if (options_.activations)
        quantized_[node.input(i)].insert(reader);
    }
    if (constants[1]) describe_channels(node, *constants[1], plan_.weights.back().axis, placed);
    describe_bias(node, placed);
    plan_.nodes.push_back(std::move(placed));
  }

  std::size_t add_weight(const NodeProto& node, const TensorProto& weight, ReaderInput reader) {
    int axis = -1;
    const int rank = weight.dims_size();
    if (is_op(node, "Conv")) axis = 0;
    if (is_op(node, "ConvTranspose")) axis = 1;
    if (is_op(node, "Gemm")) axis = attribute_int(node, "transB", 0) ? 0 : 1;
    if (is_op(node, "MatMul") && reader.input == 1 && rank == 2) axis = 1;
    plan_.weights.push_back({node.input(reader.input), reader, axis < rank ? axis : -1});
    return plan_.weights.size() - 1;
  }

  // `axis` is the weight's axis of output channels.
  static void describe_channels(const NodeProto& node, const TensorProto& weight, int axis,
                                PlacedNode& placed) {
    const bool transposed = is_op(node, "ConvTranspose");
    placed.channel_axis = transposed || is_op(node, "Conv") ? 1 : -1;
    if (axis < 0) return;
    placed.channels = weight.dims(axis) * (transposed ? attribute_int(node, "group", 1) : 1);
  }

  // Whether the constant adds one value to each output channel, the last axis of its shape.
  static bool is_channel_bias(const TensorProto& constant, std::int64_t channels) {
    return size_of(constant) == channels && constant.dims_size() > 0 &&
           constant.dims(constant.dims_size() - 1) == channels;
  }

  void describe_bias(const NodeProto& node, PlacedNode& placed) const {
    if (placed.channels == 0) return;
    if (is_op(node, "MatMul")) return describe_added_bias(node, placed);
    if (attribute_float(node, "alpha", 1) != 1 || attribute_float(node, "beta", 1) != 1) return;
    const std::string bias = input_name(node, 2);
    const TensorProto* constant = bias.empty() ? nullptr : float_constant(bias);
    if (!bias.empty() && (!constant || !is_channel_bias(*constant, placed.channels))) return;
    placed.bias = bias;
    placed.bias_reader = ReaderInput{placed.node, 2};
    placed.integer_bias = true;
  }

  // The bias of a MatMul: the constant that an Add, the only reader, adds.
  void describe_added_bias(const NodeProto& node, PlacedNode& placed) const {
    const std::vector<ReaderInput> readers = readers_of(node.output(0));
    if (readers.size() != 1) return;
    const ReaderInput reader = readers.front();
    const NodeProto& add = this->node(reader.node);
    if (!is_op(add, "Add") || graph_.is_output(node.output(0))) return;
    const int other = 1 - reader.input;
    const TensorProto* constant = float_constant(add.input(other));
    if (!constant || !is_channel_bias(*constant, placed.channels)) return;
    placed.bias = add.input(other);
    placed.bias_reader = ReaderInput{reader.node, other};
  }

  // Quantizes the output of a Conv, or of a Relu or Clip behind it, which the range then implies.
  void place_outputs() {
    for (const PlacedNode& placed : plan_.nodes) {
      if (placed.op != "Conv" && options_.placement != QuantizerPlacement::all) continue;
      place_everywhere(placed.quantized_output);
    }
  }

  std::string clipped_output(const std::string& tensor) const {
    const std::vector<ReaderInput> readers = readers_of(tensor);
    if (graph_.is_output(tensor) || readers.size() != 1) return tensor;
    const NodeProto& reader = node(readers[0].node);
    const bool clips = is_op(reader, "Relu") || (is_op(reader, "Clip") && readers[0].input == 0);
    return clips && !is_kept(reader) ? reader.output(0) : tensor;
  }

  void place_everywhere(const std::string& tensor) {
    const std::vector<ReaderInput> readers = readers_of(tensor);
    quantized_[tensor].insert(readers.begin(), readers.end());
    everywhere_.insert(tensor);
  }

  void place_others() {
    for (const NodeProto& node : graph_.graph().node()) {
      if (is_kept(node) || (!is_any(node, other_ops) && !is_any(node, moving_ops))) continue;
      const bool clips = is_op(node, "Relu") || is_op(node, "Clip");
      for (int i = 0; i < node.input_size(); ++i)
        if (is_activation(node.input(i)) && !(clips && folds_into_producer(node)))
          place_everywhere(node.input(i));
      for (const std::string& output : node.output())
        if (is_activation(output)) place_everywhere(output);
    }
  }

  // Whether a Relu or Clip is the only reader of its producer, so that both can be fused.
  bool folds_into_producer(const NodeProto& node) const {
    return graph_.producer(node.input(0)) && readers_of(node.input(0)).size() == 1 &&
           !graph_.is_output(node.input(0));
  }

  // If a tensor only holds moved values, its source gets the same quantizer, so that the operator
  // that moves them works on integers.
  void extend_backwards() {
    std::vector<std::string> pending;
    for (const auto& [tensor, readers] : quantized_) pending.push_back(tensor);
    while (!pending.empty()) {
      const std::string tensor = pending.back();
      pending.pop_back();
      const NodeProto* mover = graph_.producer(tensor);
      if (!mover || !is_any(*mover, moving_ops) || is_kept(*mover) || sources_.contains(tensor))
        continue;
      if (mover->output_size() > 1 && !mover->output(1).empty()) continue;
      if (!is_read_quantized_only(tensor) || !is_activation(mover->input(0))) continue;
      sources_[tensor] = mover->input(0);
      quantized_[mover->input(0)].insert({graph_.position(*mover), 0});
      pending.push_back(mover->input(0));
    }
  }

  bool is_read_quantized_only(const std::string& tensor) const {
    if (everywhere_.contains(tensor)) return true;
    if (graph_.is_output(tensor)) return false;
    const std::size_t readers = readers_of(tensor).size();
    return readers > 0 && readers == quantized_.at(tensor).size() &&
           graph_.consumers(tensor).size() <= readers;
  }

  PlacementPlan finish() {
    std::map<std::string, std::size_t> places;
    const auto add = [&](const std::string& tensor) {
      const auto found = quantized_.find(tensor);
      if (found == quantized_.end() || places.contains(tensor)) return;
      places.emplace(tensor, plan_.tensors.size());
      plan_.tensors.push_back({.name = tensor,
                               .readers = {found->second.begin(), found->second.end()},
                               .everywhere = everywhere_.contains(tensor),
                               .root = plan_.tensors.size()});
    };
    for (const auto& input : graph_.graph().input()) add(input.name());
    for (const NodeProto& node : graph_.graph().node())
      for (const std::string& output : node.output()) add(output);
    for (PlacedTensor& tensor : plan_.tensors)
      for (auto source = sources_.find(tensor.name); source != sources_.end();
           source = sources_.find(source->second))
        tensor.root = places.at(source->second);
    for (PlacedNode& placed : plan_.nodes)
      for (int i = 0; i < 2; ++i)
        if (const auto found = places.find(node(placed.node).input(i)); found != places.end())
          placed.tensors.push_back(found->second);
    return std::move(plan_);
  }

  const ModelIndex& index_;
  const GraphIndex& graph_;
  const PlacementOptions& options_;
  std::map<std::string, std::set<ReaderInput>> quantized_;  // inputs that read the quantized tensor
  std::set<std::string> everywhere_;
  std::map<std::string, std::string> sources_;  // the tensor whose values a moved tensor holds
  PlacementPlan plan_;
};

}  // namespace

std::string_view placement_name(QuantizerPlacement placement) {
  switch (placement) {
    case QuantizerPlacement::integer: return "integer";
    case QuantizerPlacement::inputs: return "inputs";
    default: return "all";
  }
}

QuantizerPlacement parse_placement(std::string_view name) {
  for (const QuantizerPlacement placement :
       {QuantizerPlacement::integer, QuantizerPlacement::inputs, QuantizerPlacement::all})
    if (placement_name(placement) == name) return placement;
  throw Error(fmt::format("[quantize] --placement {}: expected integer, inputs or all", name));
}

PlacementPlan place_quantizers(const ModelIndex& index, const PlacementOptions& options) {
  return QuantizerPlacer(index, options).plan();
}

}  // namespace vernier
