#include "vernier/analysis/switched_models.h"

#include "vernier/analysis/pairing/weight_counterpart.h"

namespace vernier {
namespace {

std::optional<Tensor> float_weight(const ModelIndex& float_model, const QuantizedWeight& weight) {
  const Tensor real = weight.real();
  const Counterpart counterpart = find_counterpart(float_model, weight, real);
  if (!counterpart) return std::nullopt;
  const auto found = shaped_like(float_model, *float_model.weight(counterpart.tensor), real);
  return found ? std::optional(copy(found->view)) : std::nullopt;
}

std::optional<RealRange> range_of(const std::optional<ClipRange>& folded) {
  return folded ? std::optional(RealRange{folded->low, folded->high, 0}) : std::nullopt;
}

}  // namespace

SwitchedModel switch_quantizers(const ModelIndex& float_model, const ModelIndex& quantized_model,
                                const Quantization& quantization,
                                std::span<const std::optional<ClipRange>> folded) {
  FloatCounterparts counterparts;
  for (std::size_t i = 0; i < quantization.activations.size(); ++i) {
    const QuantizedActivation& activation = quantization.activations[i];
    counterparts.folded.push_back(range_of(
        folded.empty() ? fold_clip(float_model, quantized_model, activation,
                                   find_counterpart(float_model, activation))
                             .folded
                       : folded[i]));
  }
  for (const QuantizedWeight& weight : quantization.weights)
    counterparts.weights.push_back(float_weight(float_model, weight));
  return insert_switches(quantized_model, quantization, counterparts);
}

}  // namespace vernier
