#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>

#include "vernier/analysis/quantize/bias_correction.h"
#include "vernier/analysis/quantize/graph_writer.h"
#include "vernier/analysis/quantize/write.h"
#include "vernier/model/index.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/of_values.h"

namespace vernier {
namespace {

class StaticWriter {
 public:
  StaticWriter(const ModelIndex& index, const PlacementPlan& plan,
               const QuantizationChoices& choices)
      : source_(index.model()),
        index_(index),
        plan_(plan),
        choices_(choices),
        writer_(source_.clone()) {}

  Model write() {
    for (const PlacedTensor& tensor : plan_.tensors) write_tensor(tensor);
    find_least_scales();
    for (const PlacedNode& node : plan_.nodes) write_operands(node);
    return writer_.finish();
  }

 private:
  const std::string& root_name(const PlacedTensor& tensor) const {
    return plan_.tensors[tensor.root].name;
  }

  int bits_of(const std::string& root) const {
    const auto found = choices_.activation_bits.find(root);
    return found == choices_.activation_bits.end() ? choices_.precision.activation_bits
                                                   : found->second;
  }

  Quantizer quantizer_of(const PlacedTensor& tensor) const {
    const std::string& root = root_name(tensor);
    const auto range = choices_.ranges.find(root);
    return activation_quantizer(range == choices_.ranges.end() ? CalibratedRange{} : range->second,
                                bits_of(root), choices_.symmetric);
  }

  // Names of the scale and zero point constants, which all tensors of a root share.
  std::pair<std::string, std::string> parameters(const PlacedTensor& tensor,
                                                 const Quantizer& quantizer) {
    auto& names = parameters_[root_name(tensor)];
    if (names.first.empty())
      names = {writer_.add_constant(root_name(tensor) + "_scale", quantizer.scale),
               writer_.add_constant(root_name(tensor) + "_zero_point", *quantizer.zero_point)};
    return names;
  }

  void write_tensor(const PlacedTensor& tensor) {
    const Quantizer quantizer = quantizer_of(tensor);
    const auto [scale, zero_point] = parameters(tensor, quantizer);
    const NodeProto* producer = index_.main().producer(tensor.name);
    const int behind = producer ? index_.main().position(*producer) + 1 : 0;
    const bool returned = tensor.everywhere && index_.main().is_output(tensor.name) && behind > 0;
    std::string before = tensor.name, after = tensor.name;
    if (returned) {
      before = writer_.fresh_name(tensor.name + "_QuantizeLinear_Input");
      std::ranges::replace(*writer_.node(behind - 1).mutable_output(), tensor.name, before);
    } else {
      after = writer_.fresh_name(tensor.name + "_DequantizeLinear_Output");
    }
    const std::string stored = writer_.fresh_name(tensor.name + "_QuantizeLinear_Output");
    const std::string domain = writer_.quantizer_domain(quantizer);
    writer_.insert_before(behind, "QuantizeLinear", {before, scale, zero_point}, {stored}, domain);
    writer_.insert_before(behind, "DequantizeLinear", {stored, scale, zero_point}, {after}, domain);
    for (const ReaderInput& reader : tensor.readers)
      writer_.node(reader.node).set_input(reader.input, after);
  }

  double activation_scale(const PlacedNode& node) const {
    return to_f64(quantizer_of(plan_.tensors[node.tensors.front()]).scale)[0];
  }

  // The bias plus its correction; empty if there is neither.
  std::vector<double> bias_of(const PlacedNode& node) const {
    std::vector<double> bias;
    if (!node.bias.empty()) bias = to_f64(*index_.main().value(node.bias));
    if (const auto shift = choices_.shifts.find(node.name); shift != choices_.shifts.end()) {
      bias.resize(shift->second.size());
      for (std::size_t i = 0; i < bias.size(); ++i) bias[i] += shift->second[i];
    }
    return bias;
  }

  bool has_integer_bias(const PlacedNode& node) const {
    return node.integer_bias && node.bias_reader && !node.tensors.empty() && !node.weights.empty();
  }

  void find_least_scales() {
    for (const PlacedNode& node : plan_.nodes) {
      if (!has_integer_bias(node)) continue;
      const std::vector<double> bias = bias_of(node);
      const PlacedWeight& weight = plan_.weights[node.weights.front()];
      const std::int64_t count = weight.axis < 0 || !choices_.per_channel
                                     ? 1
                                     : index_.main().constant(weight.name)->dims(weight.axis);
      std::vector<double>& least = least_scales_[weight.name];
      least.resize(static_cast<std::size_t>(count));
      for (std::size_t i = 0; i < bias.size(); ++i) {
        double& scale = least[i % least.size()];
        scale = std::max(scale, std::fabs(bias[i]) / (activation_scale(node) * largest_bias));
      }
    }
  }

  StoredWeight stored_weight(const PlacedWeight& weight) const {
    WeightOptions options{.bits = choices_.precision.weight_bits,
                          .storage = choices_.storage,
                          .axis = choices_.per_channel ? weight.axis : -1};
    if (const auto rule = choices_.weight_rules.find(weight.name);
        rule != choices_.weight_rules.end())
      options.rule = rule->second;
    if (const auto least = least_scales_.find(weight.name); least != least_scales_.end())
      options.least_scales = least->second;
    return quantize_weight(source_.view(*index_.main().constant(weight.name)), options);
  }

  struct WrittenWeight {
    std::string name;
    std::vector<double> scales;
  };

  const WrittenWeight& write_weight(const PlacedWeight& weight) {
    WrittenWeight& written = weights_[{weight.name, weight.axis}];
    if (!written.name.empty()) return written;
    StoredWeight stored = stored_weight(weight);
    written.scales = to_f64(stored.quantizer.scale);
    written.name = writer_.dequantized(weight.reader.node, weight.name, std::move(stored.stored),
                                       stored.quantizer);
    return written;
  }

  void write_operands(const PlacedNode& node) {
    std::vector<double> scales;
    for (const std::size_t i : node.weights) {
      const PlacedWeight& weight = plan_.weights[i];
      const WrittenWeight& written = write_weight(weight);
      scales = written.scales;
      writer_.node(weight.reader.node).set_input(weight.reader.input, written.name);
    }
    if (!node.bias_reader) return;
    const std::vector<double> bias = bias_of(node);
    if (bias.empty()) return;
    if (has_integer_bias(node))
      write_integer_bias(node, bias, scales);
    else if (choices_.shifts.contains(node.name))
      write_float_bias(node, bias);
  }

  void set_bias(const PlacedNode& node, const std::string& name) {
    NodeProto& reader = writer_.node(node.bias_reader->node);
    while (reader.input_size() <= node.bias_reader->input) reader.add_input("");
    reader.set_input(node.bias_reader->input, name);
  }

  Shape bias_shape(const PlacedNode& node, std::size_t size) const {
    const auto* proto = node.bias.empty() ? nullptr : index_.main().constant(node.bias);
    if (!proto) return {static_cast<std::int64_t>(size)};
    return {proto->dims().begin(), proto->dims().end()};
  }

  std::string bias_stem(const PlacedNode& node) const {
    return node.bias.empty() ? node.name + "_bias" : node.bias;
  }

  void write_integer_bias(const PlacedNode& node, const std::vector<double>& bias,
                          const std::vector<double>& weight_scales) {
    Quantizer quantizer{.dtype = DType::i32};
    const std::size_t count = weight_scales.size();
    const Shape shape = bias_shape(node, bias.size());
    quantizer.axis = std::max<std::int64_t>(std::ssize(shape) - 1, 0);
    const bool scalar = count == 1 && !per_channel_scales(node);
    std::vector<float> scales(scalar ? 1 : bias.size());
    const double activation = activation_scale(node);
    for (std::size_t i = 0; i < scales.size(); ++i)
      scales[i] = static_cast<float>(activation) * static_cast<float>(weight_scales[i % count]);
    quantizer.scale = f32_tensor(scalar ? Shape{} : Shape{std::ssize(bias)}, scales);
    Tensor stored = make_tensor("", DType::i32, shape);
    const auto out = elements<std::int32_t>(stored);
    for (std::size_t i = 0; i < bias.size(); ++i)
      out[i] = quantize_bias(bias[i], scales[i % scales.size()]);
    set_bias(node, writer_.dequantized(node.bias_reader->node, bias_stem(node), std::move(stored),
                                       quantizer));
  }

  bool per_channel_scales(const PlacedNode& node) const {
    return choices_.per_channel && plan_.weights[node.weights.front()].axis >= 0;
  }

  void write_float_bias(const PlacedNode& node, const std::vector<double>& bias) {
    Tensor tensor =
        f32_tensor(bias_shape(node, bias.size()), std::vector<float>(bias.begin(), bias.end()));
    set_bias(node, writer_.add_constant(bias_stem(node) + std::string(corrected_suffix),
                                        std::move(tensor)));
  }

  const Model& source_;
  const ModelIndex& index_;
  const PlacementPlan& plan_;
  const QuantizationChoices& choices_;
  GraphWriter writer_;
  std::map<std::string, std::pair<std::string, std::string>> parameters_;
  std::map<std::string, std::vector<double>> least_scales_;
  std::map<std::pair<std::string, int>, WrittenWeight> weights_;
};

}  // namespace

Quantizer activation_quantizer(const CalibratedRange& range, int bits, bool symmetric) {
  const double steps = std::ldexp(1.0, bits) - 1;
  double low = range.low, high = range.high;
  if (symmetric && low < 0) low = -(high = std::max(high, -low));
  Quantizer quantizer{.dtype = bits == 16 ? DType::u16 : DType::u8};
  const auto width = static_cast<float>((high - low) / steps);
  // All values in a range too narrow for a normal float scale become zero.
  const float scale = width >= std::numeric_limits<float>::min() ? width : 1.0F;
  const double zero = std::clamp(std::nearbyint(-low / scale), 0.0, steps);
  quantizer.scale = scalar_tensor(DType::f32, scale);
  quantizer.zero_point = scalar_tensor(quantizer.dtype, zero);
  return quantizer;
}

Model write_quantized(const ModelIndex& model, const PlacementPlan& plan,
                      const QuantizationChoices& choices) {
  if (choices.precision.dynamic) return write_dynamic(model, plan, choices);
  if (choices.precision.activation_bits == 0) return write_weight_only(model, plan, choices);
  return StaticWriter(model, plan, choices).write();
}

}  // namespace vernier
