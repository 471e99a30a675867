#include "vernier/analysis/switched_models.h"

#include "vernier/analysis/pairing/weight_counterpart.h"

namespace vernier {
namespace {

std::optional<Tensor> float_weight(const ModelIndex& float_model, const QuantizedWeight& weight,
                                   const Weight& counterpart) {
  const Tensor real = weight.real();
  const auto found = shaped_like(float_model, counterpart, real);
  return found ? std::optional(copy(found->view)) : std::nullopt;
}

// Of the operator that reads the weight: its third input.
std::optional<Tensor> float_bias(const Weight& weight) {
  for (const vernier_onnx::NodeProto* reader : weight.graph->consumers(weight.name))
    if (const std::string bias = input_name(*reader, 2); !bias.empty())
      return weight.graph->value(bias);
  return std::nullopt;
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
    counterparts.biases.push_back(stores_bias ? float_bias(*counterpart) : std::nullopt);
  }
  return insert_switches(quantized_model, quantization, counterparts);
}

}  // namespace vernier
