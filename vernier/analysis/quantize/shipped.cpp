#include "vernier/analysis/quantize/shipped.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "vernier/analysis/pairing/counterpart.h"
#include "vernier/analysis/quantize/graph_writer.h"
#include "vernier/model/make_node.h"
#include "vernier/model/quantization.h"
#include "vernier/model/real_operators.h"
#include "vernier/runtime/exact.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;

// Kernels add products to it in 32 bits.
constexpr double largest_bias = 1 << 30;

// The float weight, if it is the one that was quantized: no further from it than rounding and
// clipping take it. Of a vector rounding may leave nothing.
std::optional<Tensor> original_of(const QuantizedWeight& weight, const ModelIndex& reference) {
  const Counterpart counterpart = find_counterpart(reference, weight);
  if (!counterpart) return std::nullopt;
  const Weight* found = reference.weight(counterpart.tensor);
  if (!found || found->proto->data_type() != vernier_onnx::TensorProto::FLOAT) return std::nullopt;
  Tensor original = reference.model().tensor(*found->proto);
  const Tensor real = weight.real();
  if (original.shape != real.shape) return std::nullopt;
  if (original.shape.size() < 2) return original;
  const std::vector<double> wanted = to_f64(original), stored = to_f64(real);
  double noise = 0, signal = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    noise += (wanted[i] - stored[i]) * (wanted[i] - stored[i]);
    signal += wanted[i] * wanted[i];
  }
  return noise < 0.1 * signal ? std::optional(std::move(original)) : std::nullopt;
}

class Finding {
 public:
  Finding(const ModelIndex& candidate, const ModelIndex& reference, ShippedWeights weights)
      : candidate_(candidate),
        graph_(candidate.main()),
        reference_(reference),
        reads_weights_(weights == ShippedWeights::read) {
    Quantization quantization = find_quantization(candidate);
    for (QuantizedWeight& weight : quantization.weights)
      if (weight.form == WeightForm::dequantized) weights_.emplace(weight.name, std::move(weight));
    for (QuantizedActivation& activation : quantization.activations)
      activations_.emplace(activation.before, std::move(activation));
    for (const NodeProto& node : reference.main().graph().node())
      if (const auto clip = clip_range(node, reference.main())) clips_.push_back(*clip);
    const auto& nodes = graph_.graph().node();
    for (int i = 0; i < nodes.size(); ++i) numbers_.emplace(&nodes[i], i);
  }

  ShippedQuantizers find() {
    for (const NodeProto& node : graph_.graph().node())
      if (is_op_or_contrib(node, "QuantizeLinear")) add_activation(node);
    for (const NodeProto& node : graph_.graph().node())
      for (const char* op : {"Conv", "Gemm", "MatMul"})
        if (is_op(node, op)) add_node(node);
    for (const NodeProto& node : graph_.graph().node())
      for (int input = 0; reads_weights_ && input < node.input_size(); ++input)
        add_constant(node, input);
    return std::move(shipped_);
  }

 private:
  std::optional<Quantizer> quantizer_of(const NodeProto& node, DType fallback) const {
    const auto scale = graph_.value(input_name(node, 1));
    if (!scale) return std::nullopt;
    Quantizer quantizer{.dtype = fallback, .scale = *scale};
    if (const std::string zero = input_name(node, 2); !zero.empty()) {
      quantizer.zero_point = graph_.value(zero);
      if (!quantizer.zero_point) return std::nullopt;
      quantizer.dtype = quantizer.zero_point->dtype;
    }
    quantizer.axis = attribute_int(node, "axis", 1);
    quantizer.block_size = attribute_int(node, "block_size", 0);
    return quantizer;
  }

  void add_activation(const NodeProto& node) {
    if (graph_.constant(node.input(0))) return;
    const auto quantizer = quantizer_of(node, DType::u8);
    if (!quantizer || !quantizer->zero_point) return;
    const auto range = representable_range(*quantizer);
    if (!range) return;
    const std::pair key{input_name(node, 1), input_name(node, 2)};
    const auto [place, is_new] = places_.emplace(key, shipped_.activations.size());
    if (is_new)
      shipped_.activations.push_back(
          {.quantizer = *quantizer, .range = {range->low, range->high, "as shipped"}});
    auto& activation = shipped_.activations[place->second];
    activation.tensors.push_back(node.input(0));
    activation.bounds.push_back(bounds_of(node.input(0), *range));
    activation.nodes.push_back(numbers_.at(&node));
    for (const NodeProto* reader : graph_.consumers(node.output(0)))
      if (is_op_or_contrib(*reader, "DequantizeLinear")) {
        activation.nodes.push_back(numbers_.at(reader));
        dequantized_[reader->output(0)] = place->second;
      }
  }

  ActivationBounds bounds_of(const std::string& tensor, const RealRange& range) const {
    const auto found = activations_.find(tensor);
    if (found == activations_.end() || graph_.is_input(tensor)) return {};
    if (Counterpart counterpart = find_counterpart(reference_, found->second)) {
      const auto folded =
          fold_clip(reference_, candidate_, found->second, std::move(counterpart)).folded;
      return folded ? ActivationBounds{folded->low, folded->high} : ActivationBounds{};
    }
    return likely_bounds(found->second.writer_op, range);
  }

  // Where the float model's tensor is not known: a range behind an operator that Relus are folded
  // into, and that ends where a Relu or Clip of the float model does.
  ActivationBounds likely_bounds(const std::string& writer_op, const RealRange& range) const {
    static const std::set<std::string> folding = {"Conv",   "ConvTranspose", "Gemm",
                                                  "MatMul", "Add",           "BatchNormalization"};
    ActivationBounds bounds;
    if (!folding.contains(writer_op)) return bounds;
    for (const ClipRange& clip : clips_) {
      if (std::abs(clip.low - range.low) <= range.step) bounds.low = clip.low;
      if (std::abs(clip.high - range.high) <= range.step) bounds.high = clip.high;
    }
    return bounds;
  }

  void add_node(const NodeProto& node) {
    ShippedQuantizers::Node found{.node = numbers_.at(&node), .name = node_label(node)};
    const auto activation = dequantized_.find(node.input(0));
    if (activation != dequantized_.end())
      found.activation = shipped_.activations[activation->second].tensors.front();
    const NodeProto* dequantize = graph_.producer(input_name(node, 1));
    if (!dequantize || !is_op_or_contrib(*dequantize, "DequantizeLinear")) return;
    const auto quantizer = quantizer_of(*dequantize, DType::i8);
    const auto weight = weights_.find(dequantize->input(0));
    if (!quantizer || weight == weights_.end() || quantizer->block_size > 0 ||
        bits(weight->second.quantizer.dtype) != 8)
      return;
    found.weight = {.dequantize = numbers_.at(dequantize), .quantizer = weight->second.quantizer};
    // A weight with several readers keeps its scales.
    if (reads_weights_ && graph_.consumers(dequantize->output(0)).size() == 1)
      found.weight.original = original_of(weight->second, reference_);
    if (is_op(node, "Conv")) found.weight.channel_axis = 0;
    if (is_op(node, "Gemm")) found.weight.channel_axis = attribute_int(node, "transB", 0) ? 0 : 1;
    if (is_op(node, "MatMul") && found.weight.original && found.weight.original->shape.size() == 2)
      found.weight.channel_axis = 1;
    if (const NodeProto* bias = graph_.producer(input_name(node, 2));
        bias && is_op_or_contrib(*bias, "DequantizeLinear") && graph_.constant(bias->input(0)))
      found.bias = numbers_.at(bias);
    shipped_.nodes.push_back(std::move(found));
  }

  bool is_weight_of_node(const NodeProto& node, int input) const {
    return input == 1 && std::ranges::any_of(shipped_.nodes, [&](const auto& each) {
             return each.node == numbers_.at(&node) && each.weight.original;
           });
  }

  void add_constant(const NodeProto& node, int input) {
    const NodeProto* dequantize =
        node.input(input).empty() ? nullptr : graph_.producer(node.input(input));
    if (!dequantize || !is_op_or_contrib(*dequantize, "DequantizeLinear") ||
        is_weight_of_node(node, input))
      return;
    const auto stored = weights_.find(dequantize->input(0));
    if (stored == weights_.end()) return;
    auto original = original_of(stored->second, reference_);
    if (!original) return;
    shipped_.constants.push_back({.node = numbers_.at(&node),
                                  .name = node_label(node),
                                  .input = input,
                                  .dequantize = numbers_.at(dequantize),
                                  .readers = graph_.consumers(dequantize->output(0)).size(),
                                  .original = *std::move(original)});
  }

  const ModelIndex& candidate_;
  const GraphIndex& graph_;
  const ModelIndex& reference_;
  bool reads_weights_;
  std::map<std::string, QuantizedWeight> weights_;
  std::map<std::string, QuantizedActivation> activations_;  // by what is quantized
  std::vector<ClipRange> clips_;                            // of the reference
  std::map<const NodeProto*, int> numbers_;
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
  std::map<std::string, std::size_t> dequantized_;  // which activation a tensor comes from
  ShippedQuantizers shipped_;
};

// A quantizer for the range, of the type that the file has.
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
  Writing(const Model& candidate, const ShippedQuantizers& shipped,
          const QuantizationChoices& choices)
      : source_(candidate),
        index_(candidate),
        shipped_(shipped),
        choices_(choices),
        writer_(candidate.clone()) {}

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

  bool can_have_axis(int dequantize) {
    return source_.opset() >= 13 || !writer_.node(dequantize).domain().empty();
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
      auto& attributes = *dequantize.mutable_attribute();
      for (int i = attributes.size() - 1; i >= 0; --i)
        if (attributes[i].name() == "axis") attributes.DeleteSubrange(i, 1);
      if (options->axis >= 0) add_int(dequantize, "axis", options->axis);
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
    dequantize.set_input(0,
                         writer_.add_constant(stem, raise_to_unsigned(*index_.main().value(stem))));
    while (dequantize.input_size() < 3) dequantize.add_input("");
    dequantize.set_input(2, writer_.add_constant(stem + "_zero_point", raise_to_unsigned(zero)));
  }

  // In steps of both scales, as integer kernels take it.
  void write_bias(const ShippedQuantizers::Node& node, const Quantizer& weight) {
    const auto shift = choices_.shifts.find(node.name);
    const auto activation = scales_.find(node.activation);
    if (activation == scales_.end()) return;
    const std::vector<float> weight_scales = to_f32(weight.scale);
    NodeProto& dequantize = writer_.node(node.bias);
    const GraphIndex& graph = index_.main();
    const auto stored = graph.value(dequantize.input(0)), scale = graph.value(dequantize.input(1));
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
      elements<std::int32_t>(result)[i] = static_cast<std::int32_t>(std::clamp(
          std::nearbyint(real / scales[i % scales.size()]), -largest_bias, largest_bias));
    }
    const std::string stem = dequantize.input(0);
    dequantize.set_input(0, writer_.add_constant(stem, std::move(result)));
    if (same_scale) return;
    const bool was_scalar = scale->shape.empty() && scales.size() == 1;
    Tensor new_scale =
        make_tensor("", DType::f32, was_scalar ? Shape{} : Shape{std::ssize(scales)});
    std::ranges::copy(scales, elements<float>(new_scale).begin());
    dequantize.set_input(1, writer_.add_constant(stem + "_scale", std::move(new_scale)));
    if (dequantize.input_size() > 2) {
      Tensor zero = make_tensor("", DType::i32, was_scalar ? Shape{} : Shape{std::ssize(scales)});
      dequantize.set_input(2, writer_.add_constant(stem + "_zero_point", std::move(zero)));
    }
    auto& attributes = *dequantize.mutable_attribute();
    for (int i = attributes.size() - 1; i >= 0; --i)
      if (attributes[i].name() == "axis") attributes.DeleteSubrange(i, 1);
    if (!was_scalar) add_int(dequantize, "axis", std::ssize(stored->shape) - 1);
  }

  const Model& source_;
  ModelIndex index_;
  const ShippedQuantizers& shipped_;
  const QuantizationChoices& choices_;
  GraphWriter writer_;
  std::map<std::string, double> scales_;  // of activations
  std::set<int> raised_;                  // DequantizeLinear of weights that are unsigned now
};

}  // namespace

ShippedQuantizers find_shipped(const ModelIndex& candidate, const ModelIndex& reference,
                               ShippedWeights weights) {
  return Finding(candidate, reference, weights).find();
}

Model write_shipped(const Model& candidate, const ShippedQuantizers& shipped,
                    const QuantizationChoices& choices) {
  return Writing(candidate, shipped, choices).write();
}

bool becomes_unsigned(const ShippedQuantizers& shipped, const ShippedQuantizers::Node& node,
                      WeightStorage storage) {
  const auto activation = std::ranges::find(
      shipped.activations, node.activation,
      [](const auto& each) -> const std::string& { return each.tensors.front(); });
  return storage == WeightStorage::uint8 && node.weight.quantizer.dtype == DType::i8 &&
         activation != shipped.activations.end() && activation->quantizer.dtype == DType::u8;
}

const ActivationBounds& ShippedQuantizers::Activation::bounds_of(const std::string& tensor) const {
  return bounds[static_cast<std::size_t>(std::ranges::find(tensors, tensor) - tensors.begin())];
}

ActivationBounds ShippedQuantizers::Activation::common_bounds() const {
  ActivationBounds common;
  for (const ActivationBounds& each : bounds)
    common = {std::max(common.low, each.low), std::min(common.high, each.high)};
  return common;
}

namespace {

bool is_dequantize(const NodeProto* node) { return is_op_or_contrib(*node, "DequantizeLinear"); }

void remove_quantizers(GraphWriter& writer, const GraphIndex& graph,
                       const ShippedQuantizers& shipped,
                       const std::function<bool(const std::string& tensor)>& is_removed) {
  const auto constant = [&](const std::string& stem, double value) {
    Tensor tensor = make_tensor("", DType::f32, {});
    elements<float>(tensor)[0] = static_cast<float>(value);
    return writer.add_constant(stem, std::move(tensor));
  };
  for (const auto& activation : shipped.activations) {
    std::map<std::string, std::string> sources;  // what is quantized, by what it is quantized to
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
        if (value) inputs.push_back(constant(bounded + "_by", *value));
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

}  // namespace

Model without_quantizers(const Model& candidate, const ShippedQuantizers& shipped,
                         const std::function<bool(const std::string& tensor)>& is_removed) {
  GraphWriter writer(candidate.clone());
  remove_quantizers(writer, ModelIndex(candidate).main(), shipped, is_removed);
  return writer.finish();
}

std::string owner_of(const ModelIndex& candidate, const std::string& tensor) {
  const NodeProto* writer = candidate.main().producer(tensor);
  return writer ? node_label(*writer) : tensor;
}

namespace {

// The tensor whose elements a tensor holds, perhaps at other places and quantized before: what goes
// into the Resize, MaxPool and the like that it comes from.
std::string moved_from(const GraphIndex& graph, std::string tensor) {
  for (const NodeProto* writer = graph.producer(tensor); writer; writer = graph.producer(tensor)) {
    const bool is_pair = is_op_or_contrib(*writer, "QuantizeLinear") || is_dequantize(writer);
    if (!is_pair && !moves_elements(*writer)) break;
    tensor = writer->input(0);
  }
  return tensor;
}

}  // namespace

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
  std::map<int, std::size_t> replaced;  // readers of a DequantizeLinear
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
