#include "vernier/analysis/quantize/shipped.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <set>

#include "vernier/analysis/pairing/counterpart.h"
#include "vernier/analysis/quantize/graph_writer.h"
#include "vernier/model/make_node.h"
#include "vernier/model/quantization.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// The float weight, if the stored weight was quantized from it: their difference is no more than
// rounding and clipping explain. Vectors are not checked, since rounding may leave nothing of them.
std::optional<Tensor> original_of(const QuantizedWeight& weight, const ModelIndex& reference) {
  const Counterpart counterpart = find_counterpart(reference, weight);
  if (!counterpart) return std::nullopt;
  const Weight* found = reference.weight(counterpart.tensor);
  if (!found || found->proto->data_type() != TensorProto::FLOAT) return std::nullopt;
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
    activation.nodes.push_back(graph_.position(node));
    for (const NodeProto* reader : graph_.consumers(node.output(0)))
      if (is_op_or_contrib(*reader, "DequantizeLinear")) {
        activation.nodes.push_back(graph_.position(*reader));
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

  // The bounds if the reference's tensor is not known: the range ends where a Relu or Clip of the
  // reference does, and the operator is one that Relus are folded into.
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
    ShippedQuantizers::Node found{.node = graph_.position(node), .name = node_label(node)};
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
    found.weight = {.dequantize = graph_.position(*dequantize),
                    .quantizer = weight->second.quantizer};
    // A weight with several readers keeps its scales.
    if (reads_weights_ && graph_.consumers(dequantize->output(0)).size() == 1)
      found.weight.original = original_of(weight->second, reference_);
    if (is_op(node, "Conv")) found.weight.channel_axis = 0;
    if (is_op(node, "Gemm")) found.weight.channel_axis = attribute_int(node, "transB", 0) ? 0 : 1;
    if (is_op(node, "MatMul") && found.weight.original && found.weight.original->shape.size() == 2)
      found.weight.channel_axis = 1;
    if (const NodeProto* bias = graph_.producer(input_name(node, 2));
        bias && is_op_or_contrib(*bias, "DequantizeLinear") && graph_.constant(bias->input(0)))
      found.bias = graph_.position(*bias);
    shipped_.nodes.push_back(std::move(found));
  }

  bool is_weight_of_node(const NodeProto& node, int input) const {
    return input == 1 && std::ranges::any_of(shipped_.nodes, [&](const auto& each) {
             return each.node == graph_.position(node) && each.weight.original;
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
    shipped_.constants.push_back({.node = graph_.position(node),
                                  .name = node_label(node),
                                  .input = input,
                                  .dequantize = graph_.position(*dequantize),
                                  .readers = graph_.consumers(dequantize->output(0)).size(),
                                  .original = *std::move(original)});
  }

  const ModelIndex& candidate_;
  const GraphIndex& graph_;
  const ModelIndex& reference_;
  bool reads_weights_;
  std::map<std::string, QuantizedWeight> weights_;
  std::map<std::string, QuantizedActivation> activations_;  // by tensor before the quantizer
  std::vector<ClipRange> clips_;  // of the reference's Relu and Clip nodes
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
  std::map<std::string, std::size_t> dequantized_;  // activation index, by dequantized tensor
  ShippedQuantizers shipped_;
};

}  // namespace

ShippedQuantizers find_shipped(const ModelIndex& candidate, const ModelIndex& reference,
                               ShippedWeights weights) {
  return Finding(candidate, reference, weights).find();
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

std::string owner_of(const ModelIndex& candidate, const std::string& tensor) {
  const NodeProto* writer = candidate.main().producer(tensor);
  return writer ? node_label(*writer) : tensor;
}

}  // namespace vernier
