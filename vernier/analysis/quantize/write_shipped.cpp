#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "vernier/analysis/quantize/graph_writer.h"
#include "vernier/analysis/quantize/shipped.h"
#include "vernier/model/make_node.h"
#include "vernier/model/real_operators.h"
#include "vernier/runtime/exact.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/of_values.h"

namespace vernier {
namespace {

// Sets the axis of a DequantizeLinear; removes it if negative.
void set_axis(NodeProto& dequantize, std::int64_t axis) {
  auto& attributes = *dequantize.mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i)
    if (attributes[i].name() == "axis") attributes.DeleteSubrange(i, 1);
  if (axis >= 0) add_int(dequantize, "axis", axis);
}

// A quantizer for the range, of the same type as the shipped one.
Quantizer quantizer_for(const CalibratedRange& range, const Quantizer& shipped) {
  Quantizer quantizer = activation_quantizer(range, bits(shipped.dtype));
  if (!is_signed(shipped.dtype)) return quantizer;
  Tensor zero = convert(*quantizer.zero_point, DType::f64);
  elements<double>(zero)[0] += stored_range(shipped.dtype).low;
  quantizer.zero_point = convert(zero, shipped.dtype);
  quantizer.dtype = shipped.dtype;
  return quantizer;
}

class Writing {
 public:
  Writing(const ModelIndex& candidate, const ShippedQuantizers& shipped,
          const QuantizationChoices& choices)
      : source_(candidate.model()),
        graph_(candidate.main()),
        shipped_(shipped),
        choices_(choices),
        writer_(source_.clone()) {}

  Model write() {
    for (const auto& activation : shipped_.activations) write_activation(activation);
    for (const auto& node : shipped_.nodes) write_node(node);
    return writer_.finish();
  }

 private:
  void write_activation(const ShippedQuantizers::Activation& activation) {
    const std::string& name = activation.tensors.front();
    const auto range = choices_.ranges.find(name);
    Quantizer quantizer = activation.quantizer;
    if (range != choices_.ranges.end() && range->second != activation.range) {
      quantizer = quantizer_for(range->second, activation.quantizer);
      const std::string scale = writer_.add_constant(name + "_scale", quantizer.scale);
      const std::string zero = writer_.add_constant(name + "_zero_point", *quantizer.zero_point);
      for (const int node : activation.nodes) {
        writer_.node(node).set_input(1, scale);
        writer_.node(node).set_input(2, zero);
      }
    }
    scales_[name] = to_f64(quantizer.scale)[0];
  }

  std::optional<WeightOptions> weight_options(const ShippedQuantizers::Node& node) const {
    if (!node.weight.original) return std::nullopt;
    const auto rule = choices_.weight_rules.find(node.name);
    const bool per_channel = choices_.per_channel && node.weight.channel_axis >= 0 &&
                             granularity(node.weight.quantizer) == Granularity::per_tensor &&
                             can_have_axis(node.weight.dequantize);
    if (!per_channel && rule == choices_.weight_rules.end()) return std::nullopt;
    const bool has_channels = granularity(node.weight.quantizer) == Granularity::per_channel;
    return WeightOptions{
        .storage = node.weight.quantizer.dtype == DType::u8 || is_raised(node)
                       ? WeightStorage::uint8
                       : WeightStorage::int8,
        .rule = rule == choices_.weight_rules.end() ? WeightRule::minmax : rule->second,
        .axis = per_channel || has_channels ? node.weight.channel_axis : -1};
  }

  bool is_raised(const ShippedQuantizers::Node& node) const {
    return becomes_unsigned(shipped_, node, choices_.storage);
  }

  bool can_have_axis(int dequantize) const {
    return source_.opset() >= 13 || !source_.graph().node(dequantize).domain().empty();
  }

  void write_node(const ShippedQuantizers::Node& node) {
    Quantizer quantizer = node.weight.quantizer;
    if (const auto options = weight_options(node)) {
      StoredWeight stored = quantize_weight(*node.weight.original, *options);
      quantizer = stored.quantizer;
      NodeProto& dequantize = writer_.node(node.weight.dequantize);
      const std::string stem = dequantize.input(0);
      dequantize.set_input(0, writer_.add_constant(stem, std::move(stored.stored)));
      dequantize.set_input(1, writer_.add_constant(stem + "_scale", quantizer.scale));
      const std::string zero = writer_.add_constant(stem + "_zero_point", *quantizer.zero_point);
      if (dequantize.input_size() > 2)
        dequantize.set_input(2, zero);
      else
        dequantize.add_input(zero);
      set_axis(dequantize, options->axis);
    } else if (is_raised(node) && raised_.insert(node.weight.dequantize).second) {
      raise(node.weight);
    }
    if (node.bias >= 0) write_bias(node, quantizer);
  }

  void raise(const ShippedQuantizers::Operand& weight) {
    NodeProto& dequantize = writer_.node(weight.dequantize);
    const std::string stem = dequantize.input(0);
    const Tensor zero = weight.quantizer.zero_point.value_or(
        make_tensor("", DType::i8, weight.quantizer.scale.shape));
    dequantize.set_input(0, writer_.add_constant(stem, raise_to_unsigned(*graph_.value(stem))));
    while (dequantize.input_size() < 3) dequantize.add_input("");
    dequantize.set_input(2, writer_.add_constant(stem + "_zero_point", raise_to_unsigned(zero)));
  }

  // Stores the bias in units of activation scale * weight scale, as integer kernels require.
  void write_bias(const ShippedQuantizers::Node& node, const Quantizer& weight) {
    const auto shift = choices_.shifts.find(node.name);
    const auto activation = scales_.find(node.activation);
    if (activation == scales_.end()) return;
    const std::vector<float> weight_scales = to_f32(weight.scale);
    NodeProto& dequantize = writer_.node(node.bias);
    const auto stored = graph_.value(dequantize.input(0)),
               scale = graph_.value(dequantize.input(1));
    if (!stored || !scale || stored->dtype != DType::i32) return;
    const std::vector<double> integers = to_f64(*stored), steps = to_f64(*scale);
    std::vector<float> scales(weight_scales.size() == 1 ? 1 : integers.size());
    for (std::size_t i = 0; i < scales.size(); ++i)
      scales[i] = static_cast<float>(activation->second) * weight_scales[i % weight_scales.size()];
    const bool same_scale = std::ranges::equal(
        scales, steps, [](float a, double b) { return std::fabs(a - b) <= 1e-6 * std::fabs(b); });
    if (same_scale && shift == choices_.shifts.end()) return;
    Tensor result = make_tensor("", DType::i32, stored->shape);
    for (std::size_t i = 0; i < integers.size(); ++i) {
      double real = integers[i] * steps[i % steps.size()];
      if (shift != choices_.shifts.end()) real += shift->second[i % shift->second.size()];
      elements<std::int32_t>(result)[i] = quantize_bias(real, scales[i % scales.size()]);
    }
    const std::string stem = dequantize.input(0);
    dequantize.set_input(0, writer_.add_constant(stem, std::move(result)));
    if (same_scale) return;
    const bool was_scalar = scale->shape.empty() && scales.size() == 1;
    const Shape shape = was_scalar ? Shape{} : Shape{std::ssize(scales)};
    dequantize.set_input(1, writer_.add_constant(stem + "_scale", f32_tensor(shape, scales)));
    if (dequantize.input_size() > 2)
      dequantize.set_input(
          2, writer_.add_constant(stem + "_zero_point", make_tensor("", DType::i32, shape)));
    set_axis(dequantize, was_scalar ? -1 : std::ssize(stored->shape) - 1);
  }

  const Model& source_;
  const GraphIndex& graph_;
  const ShippedQuantizers& shipped_;
  const QuantizationChoices& choices_;
  GraphWriter writer_;
  std::map<std::string, double> scales_;  // by activation
  std::set<int> raised_;                  // DequantizeLinear nodes of weights that are now unsigned
};

bool is_dequantize(const NodeProto* node) { return is_op_or_contrib(*node, "DequantizeLinear"); }

void remove_quantizers(GraphWriter& writer, const GraphIndex& graph,
                       const ShippedQuantizers& shipped,
                       const std::function<bool(const std::string& tensor)>& is_removed) {
  for (const auto& activation : shipped.activations) {
    std::map<std::string, std::string> sources;  // tensor before QuantizeLinear, by its output
    for (const int number : activation.nodes) {
      NodeProto& node = writer.node(number);
      if (is_op_or_contrib(node, "QuantizeLinear")) {
        if (!is_removed(node.input(0))) continue;
        sources[node.output(0)] = node.input(0);
        const auto readers = graph.consumers(node.output(0));
        if (!graph.is_output(node.output(0)) && std::ranges::all_of(readers, is_dequantize))
          writer.drop(number);
        continue;
      }
      const auto found = sources.find(node.input(0));
      if (found == sources.end()) continue;
      std::string source = found->second;
      const ActivationBounds bounds = activation.bounds_of(source);
      const auto bound = [&](const char* op, std::optional<double> value) {
        const std::string bounded = writer.fresh_name(source + "_bounded");
        std::vector<std::string> inputs = {source};
        if (value)
          inputs.push_back(writer.add_constant(bounded + "_by", scalar_tensor(DType::f32, *value)));
        writer.insert_before(number, op, inputs, {bounded});
        source = bounded;
      };
      if (bounds.low == 0)
        bound("Relu", std::nullopt);
      else if (std::isfinite(bounds.low))
        bound("Max", bounds.low);
      if (std::isfinite(bounds.high)) bound("Min", bounds.high);
      writer.insert_before(number, "Identity", {source}, {node.output(0)});
      writer.drop(number);
    }
  }
}

// Follows a tensor back through Q-DQ pairs and operators that only move elements (Resize, MaxPool)
// to the tensor that its values come from.
std::string moved_from(const GraphIndex& graph, std::string tensor) {
  for (const NodeProto* writer = graph.producer(tensor); writer; writer = graph.producer(tensor)) {
    const bool is_pair = is_op_or_contrib(*writer, "QuantizeLinear") || is_dequantize(writer);
    if (!is_pair && !moves_elements(*writer)) break;
    tensor = writer->input(0);
  }
  return tensor;
}

}  // namespace

Model write_shipped(const ModelIndex& candidate, const ShippedQuantizers& shipped,
                    const QuantizationChoices& choices) {
  return Writing(candidate, shipped, choices).write();
}

Model without_quantizers(const ModelIndex& candidate, const ShippedQuantizers& shipped,
                         const std::function<bool(const std::string& tensor)>& is_removed) {
  GraphWriter writer(candidate.model().clone());
  remove_quantizers(writer, candidate.main(), shipped, is_removed);
  return writer.finish();
}

Model keep_in_float(const ModelIndex& candidate, const ShippedQuantizers& shipped,
                    const std::vector<std::string>& nodes) {
  const std::set<std::string> kept(nodes.begin(), nodes.end());
  GraphWriter writer(candidate.model().clone());
  remove_quantizers(writer, candidate.main(), shipped, [&](const std::string& tensor) {
    return kept.contains(owner_of(candidate, tensor)) ||
           kept.contains(owner_of(candidate, moved_from(candidate.main(), tensor)));
  });
  for (const auto& node : shipped.nodes) {
    if (!kept.contains(node.name) || !node.weight.original) continue;
    const std::string stem = writer.node(node.weight.dequantize).input(0);
    writer.node(node.node).set_input(1,
                                     writer.add_constant(stem + "_float", *node.weight.original));
    writer.drop(node.weight.dequantize);
  }
  std::map<int, std::size_t> replaced;  // readers, by DequantizeLinear
  for (const auto& constant : shipped.constants) {
    if (!kept.contains(constant.name)) continue;
    const std::string stem = writer.node(constant.dequantize).input(0);
    writer.node(constant.node)
        .set_input(constant.input, writer.add_constant(stem + "_float", constant.original));
    if (++replaced[constant.dequantize] == constant.readers) writer.drop(constant.dequantize);
  }
  return writer.finish();
}

}  // namespace vernier
