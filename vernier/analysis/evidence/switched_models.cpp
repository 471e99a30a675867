#include "vernier/analysis/evidence/switched_models.h"

#include <vernier_onnx.pb.h>

#include <array>
#include <cmath>
#include <map>

#include "vernier/analysis/pairing/weight_counterpart.h"
#include "vernier/error.h"
#include "vernier/metrics/similarity.h"
#include "vernier/model/edit.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;

std::optional<Tensor> float_weight(const ModelIndex& float_model, const QuantizedWeight& weight,
                                   const Weight& counterpart) {
  const Tensor real = weight.real();
  const auto found = shaped_like(float_model, counterpart, real);
  return found ? std::optional(copy(found->view)) : std::nullopt;
}

// Of the operator that reads the weight: its third input.
std::vector<Tensor> float_bias(const Weight& weight) {
  std::vector<Tensor> found;
  for (const NodeProto* reader : weight.graph->consumers(weight.name))
    if (auto bias = weight.graph->value(input_name(*reader, 2))) found.push_back(*std::move(bias));
  return found;
}

std::optional<RealRange> range_of(const std::optional<ClipRange>& folded) {
  return folded ? std::optional(RealRange{folded->low, folded->high, 0}) : std::nullopt;
}

// Of what the float model bounds, that which the quantizer's codes bound, too.
std::optional<RealRange> kept_bounds(const std::optional<ClipRange>& folded,
                                     const Quantizer& quantizer) {
  const auto range = representable_range(quantizer);
  if (!folded || !range) return std::nullopt;
  RealRange kept{-INFINITY, INFINITY, 0};
  if (range->low >= folded->low - range->step) kept.low = folded->low;
  if (range->high <= folded->high + range->step) kept.high = folded->high;
  return kept;
}

// The weight beside a bias: both are read by one node.
const NodeProto* bias_reader(const ModelIndex& model, const QuantizedWeight& bias) {
  const FoundNode* reader = bias.reader_input == 2 ? model.node(bias.reader) : nullptr;
  return reader ? reader->node : nullptr;
}

class FloatParts {
 public:
  FloatParts(const ModelIndex* reference, const ModelIndex& candidate,
             const WeightEvidence& weights, FoldedBounds bounds)
      : reference_(reference), candidate_(candidate), bounds_(bounds) {
    if (reference) weights_ = float_weights_of(*reference, candidate, weights);
  }

  FloatCounterparts of(const Quantization& quantization) const {
    FloatCounterparts counterparts;
    for (const QuantizedActivation& activation : quantization.activations)
      counterparts.folded.push_back(folded(activation));
    for (const QuantizedWeight& weight : quantization.weights) {
      const auto found = weights_.find(weight.name);
      const bool is_paired = found != weights_.end();
      counterparts.weights.push_back(is_paired ? std::optional(copy(found->second.weight.view()))
                                               : other_constant(weight));
      const bool stores_bias = is_paired && weight.form == WeightForm::q_operator;
      counterparts.biases.emplace_back();
      if (stores_bias)
        for (const Tensor& bias : found->second.biases)
          counterparts.biases.back().push_back(copy(bias.view()));
    }
    return counterparts;
  }

 private:
  std::optional<RealRange> folded(const QuantizedActivation& activation) const {
    if (activation.dynamic || !reference_) return std::nullopt;
    const auto found =
        fold_clip(*reference_, candidate_, activation, find_counterpart(*reference_, activation));
    if (!found.counterpart) return bounds_of_codes(activation.quantizer);
    return bounds_ == FoldedBounds::all ? range_of(found.folded)
                                        : kept_bounds(found.folded, activation.quantizer);
  }

  // Where another exporter gave other names: codes that begin at zero cut off what is below, as a
  // Relu does, and where there was none, no number is below.
  std::optional<RealRange> bounds_of_codes(const Quantizer& quantizer) const {
    const auto range = representable_range(quantizer);
    if (!range || range->low != 0) return std::nullopt;
    RealRange bounds{0, INFINITY, 0};
    for (const GraphIndex& graph : reference_->graphs())
      for (const NodeProto& node : graph.graph().node())
        if (const auto clip = clip_range(node, graph);
            clip && std::abs(clip->high - range->high) <= range->step)
          bounds.high = clip->high;
    return bounds;
  }

  // What is not compared as a weight.
  std::optional<Tensor> other_constant(const QuantizedWeight& weight) const {
    auto found = vector_of(weight);
    return found ? found : computed_constant(weight);
  }

  // What the reference computes from constants alone, and the candidate holds: optimisers fold it.
  std::optional<Tensor> computed_constant(const QuantizedWeight& weight) const {
    if (!reference_) return std::nullopt;
    for (const std::string& name : {weight.name, weight.real_name}) {
      const Counterpart found = find_counterpart(*reference_, name);
      if (!found) continue;
      try {
        OrtRunner runner(extract_subgraph(reference_->model(), {}, std::array{found.tensor}));
        return rounded_from(convert(runner.run({}).front(), DType::f32), weight.real());
      } catch (const Stopped&) {
        throw;
      } catch (const Error&) {
        continue;  // it depends on inputs
      }
    }
    return std::nullopt;
  }

  // Biases, and what else has too few axes to be compared as a weight.
  std::optional<Tensor> vector_of(const QuantizedWeight& weight) const {
    const Tensor real = weight.real();
    if (real.shape.size() > 1 && real.size() >= 16) return std::nullopt;
    if (const NodeProto* reader = bias_reader(candidate_, weight)) {
      const WeightSource beside = candidate_.main().weight_source(reader->input(1));
      const auto found = beside ? weights_.find(beside.stored->name()) : weights_.end();
      const Tensor* bias =
          found == weights_.end() ? nullptr : nearest_bias(found->second.biases, real);
      if (bias) {
        Tensor shaped = copy(bias->view());
        shaped.shape = real.shape;
        return shaped;
      }
    }
    return by_name(weight, real);
  }

  // The value, shaped as what is stored, where that is it but for rounding.
  static std::optional<Tensor> rounded_from(Tensor value, const Tensor& stored) {
    constexpr double rounded_db = 20;
    if (value.size() != stored.size()) return std::nullopt;
    value.shape = stored.shape;
    return sqnr_db(measure_noise(value, stored)) >= rounded_db ? std::optional(std::move(value))
                                                               : std::nullopt;
  }

  // A constant of the same name.
  std::optional<Tensor> by_name(const QuantizedWeight& weight, const Tensor& real) const {
    if (!reference_) return std::nullopt;
    const Counterpart found = find_counterpart(*reference_, weight);
    const Weight* counterpart = found ? reference_->weight(found.tensor) : nullptr;
    if (!counterpart) return std::nullopt;
    return rounded_from(convert(reference_->model().view(*counterpart->proto), DType::f32), real);
  }

  const ModelIndex* reference_;
  const ModelIndex& candidate_;
  FoldedBounds bounds_;
  std::map<std::string, FloatWeight> weights_;
};

}  // namespace

SwitchedModel switch_quantizers(const ModelIndex& float_model, const ModelIndex& quantized_model,
                                const Quantization& quantization,
                                std::span<const std::optional<ClipRange>> folded) {
  FloatCounterparts counterparts;
  for (std::size_t i = 0; i < quantization.activations.size(); ++i) {
    const QuantizedActivation& activation = quantization.activations[i];
    counterparts.folded.push_back(
        range_of(folded.empty() ? fold_clip(float_model, quantized_model, activation,
                                            find_counterpart(float_model, activation))
                                      .folded
                                : folded[i]));
  }
  for (const QuantizedWeight& weight : quantization.weights) {
    const Counterpart found = find_counterpart(float_model, weight, weight.real());
    const Weight* counterpart = found ? float_model.weight(found.tensor) : nullptr;
    const bool stores_bias = counterpart && weight.form == WeightForm::q_operator;
    counterparts.weights.push_back(counterpart ? float_weight(float_model, weight, *counterpart)
                                               : std::nullopt);
    counterparts.biases.push_back(stores_bias ? float_bias(*counterpart) : std::vector<Tensor>());
  }
  return insert_switches(quantized_model, quantization, counterparts);
}

SwitchedModel switch_quantizers(const ModelIndex* float_model, const ModelIndex& quantized_model,
                                const WeightEvidence& weights, FoldedBounds bounds) {
  const Quantization quantization = find_quantization(quantized_model);
  const FloatParts parts(float_model, quantized_model, weights, bounds);
  return insert_switches(quantized_model, quantization, parts.of(quantization));
}

std::optional<LostBound> find_lost_bound(const ModelIndex& float_model,
                                         const ModelIndex& quantized_model) {
  for (const QuantizedActivation& activation : find_quantization(quantized_model).activations) {
    if (activation.dynamic) continue;
    const auto found = fold_clip(float_model, quantized_model, activation,
                                 find_counterpart(float_model, activation));
    const auto kept = kept_bounds(found.folded, activation.quantizer);
    if (found.counterpart && kept &&
        (kept->low != found.folded->low || kept->high != found.folded->high))
      return LostBound{activation.name, *representable_range(activation.quantizer), *found.folded};
  }
  return std::nullopt;
}

}  // namespace vernier
