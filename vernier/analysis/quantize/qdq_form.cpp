#include "vernier/analysis/quantize/repair.h"

#include <vernier_onnx.pb.h>

#include <map>
#include <utility>

#include "vernier/analysis/quantize/graph_writer.h"
#include "vernier/model/make_node.h"
#include "vernier/model/real_operators.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/of_values.h"

namespace vernier {
namespace {

constexpr std::int64_t opset_of_axes = 13;  // first opset whose DequantizeLinear has an axis

std::string without_suffix(const std::string& name, std::string_view suffix) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

// "getitem_12_quantized" -> "getitem_12"
std::string real_name(const std::string& stored) { return without_suffix(stored, "_quantized"); }

// The channel axis of the node's weight.
std::int64_t channel_axis(const NodeProto& node) {
  if (is_op(node, "QLinearConv")) return 0;
  return node.op_type() == "QGemm" && attribute_int(node, "transB", 0) != 0 ? 0 : 1;
}

class QdqRewriter {
 public:
  explicit QdqRewriter(const ModelIndex& model)
      : model_(model), graph_(model.main()), writer_(model.model().clone()) {}

  std::optional<Model> rewrite() {
    bool found = false;
    const auto& nodes = graph_.graph().node();
    for (number_ = 0; number_ < nodes.size(); ++number_) {
      const NodeProto& node = nodes[number_];
      if (const auto real = real_operator(node)) {
        found = true;
        if (!replace(node, *real)) return std::nullopt;
      } else if (node.op_type().starts_with("QLinear")) {
        return std::nullopt;
      } else if (node.op_type() == "QuantizeLinear") {
        scales_[node.output(0)] = {input_name(node, 1), input_name(node, 2)};
      } else if (const int moved = moved_inputs(node)) {
        found = true;
        move(node, moved);
      }
    }
    return found ? std::optional(writer_.finish()) : std::nullopt;
  }

 private:
  struct ScaleNames {
    std::string scale, zero_point;
    bool operator==(const ScaleNames&) const = default;
  };

  std::vector<std::string> quantizer_inputs(const std::string& tensor, const ScaleNames& names) {
    if (names.zero_point.empty()) return {tensor, names.scale};
    return {tensor, names.scale, names.zero_point};
  }

  // The dequantized tensor. `axis` is the channel axis if there is a scale per channel.
  std::string dequantized(const std::string& stored, const ScaleNames& names,
                          std::optional<std::int64_t> axis = {}) {
    std::string& real = real_[stored + "\n" + names.scale + "\n" + names.zero_point];
    if (!real.empty()) return real;
    real = writer_.fresh_name(real_name(stored) + "_DequantizeLinear_Output");
    NodeProto& node =
        writer_.insert_before(number_, "DequantizeLinear", quantizer_inputs(stored, names), {real});
    if (axis) add_int(node, "axis", *axis);
    return real;
  }

  // Replaces `node` by the float operator `real`. With `names`, its output is quantized to the
  // tensor that `node` wrote.
  void insert(NodeProto real, const std::vector<std::string>& inputs, const NodeProto& node,
              const std::optional<ScaleNames>& names) {
    const std::string& stored = node.output(0);
    const std::string output = names ? writer_.fresh_name(real_name(stored)) : stored;
    NodeProto& added = writer_.insert_before(number_, real.op_type(), inputs, {output});
    real.set_name(without_suffix(node.name(), "_quant"));
    *real.mutable_input() = added.input();
    *real.mutable_output() = added.output();
    added = std::move(real);
    writer_.drop(number_);
    if (!names) return;
    writer_.insert_before(number_, "QuantizeLinear", quantizer_inputs(output, *names), {stored});
    scales_[stored] = *names;
  }

  bool replace(const NodeProto& node, const RealOperator& real) {
    if (is_op(node, "QLinearReduceMean", "com.microsoft") && model_.model().opset() >= 18)
      return false;  // from opset 18 on ReduceMean takes its axes as an input
    std::vector<std::string> inputs;
    for (const StoredInput& input : real.inputs) {
      const ScaleNames names{input_name(node, input.scale), input_name(node, input.zero_point)};
      const auto scales = graph_.numbers(names.scale);
      if (!scales || (scales->size() > 1 && model_.model().opset() < opset_of_axes)) return false;
      const bool has_channels = scales->size() > 1;
      inputs.push_back(
          dequantized(input_name(node, input.tensor), names,
                      has_channels ? std::optional(channel_axis(node)) : std::nullopt));
    }
    if (real.bias >= 0 && !input_name(node, real.bias).empty()) {
      const auto bias = dequantized_bias(node, real);
      if (!bias) return false;
      inputs.push_back(*bias);
    }
    std::optional<ScaleNames> output;
    if (!input_name(node, real.output_scale).empty())
      output = {input_name(node, real.output_scale), input_name(node, real.output_scale + 1)};
    insert(real_node(node, real), inputs, node, output);
    return true;
  }

  // The bias, stored in units of activation scale * weight scale; nullopt if these are computed.
  std::optional<std::string> dequantized_bias(const NodeProto& node, const RealOperator& real) {
    const auto first = graph_.numbers(input_name(node, real.inputs[0].scale)),
               second = graph_.numbers(input_name(node, real.inputs[1].scale));
    const std::string stored = input_name(node, real.bias);
    const auto values = graph_.value(stored);
    if (!first || first->size() != 1 || !second || !values) return std::nullopt;
    const bool has_channels = second->size() > 1;
    std::vector<float> scales;
    for (const double each : *second)
      scales.push_back(static_cast<float>((*first)[0]) * static_cast<float>(each));
    Tensor scale = f32_tensor(has_channels ? Shape{std::ssize(scales)} : Shape{}, scales);
    const std::string name = writer_.add_constant(stored + "_scale", std::move(scale));
    return dequantized(stored, {name, ""},
                       has_channels ? std::optional(std::ssize(values->shape) - 1) : std::nullopt);
  }

  // The number of inputs that hold integers which the node only moves; 0 if none. A Concat
  // qualifies if all inputs share a quantizer.
  int moved_inputs(const NodeProto& node) const {
    if (node.input_size() == 0 || !scales_.contains(node.input(0))) return 0;
    if (moves_elements(node)) return 1;
    if (!is_op(node, "Concat")) return 0;
    for (const std::string& input : node.input())
      if (!scales_.contains(input) || !(scales_.at(input) == scales_.at(node.input(0)))) return 0;
    return node.input_size();
  }

  // Moves dequantized values instead and quantizes the result, so that both sides have the same
  // quantizer.
  void move(const NodeProto& node, int count) {
    const ScaleNames names = scales_.at(node.input(0));
    std::vector<std::string> inputs(node.input().begin(), node.input().end());
    for (int i = 0; i < count; ++i) inputs[i] = dequantized(inputs[i], names);
    insert(node, inputs, node, names);
  }

  const ModelIndex& model_;
  const GraphIndex& graph_;
  GraphWriter writer_;
  int number_ = 0;
  std::map<std::string, ScaleNames> scales_;  // by quantized activation
  std::map<std::string, std::string> real_;   // dequantized tensor, by tensor and quantizer
};

}  // namespace

std::optional<Model> in_qdq_form(const ModelIndex& model) { return QdqRewriter(model).rewrite(); }

}  // namespace vernier
