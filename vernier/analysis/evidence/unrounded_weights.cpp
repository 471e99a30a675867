#include "vernier/analysis/evidence/unrounded_weights.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "vernier/model/quantization.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr double nearest_steps = 0.7;  // rounding to nearest leaves 0.5, dynamic quantization 0.6

// The weight's codes; its values in the stored type if the model quantizes it in each run.
Tensor stored_as(const Tensor& weight, const QuantizedWeight& form, DType stored) {
  if (form.form == WeightForm::fake_quantized) return convert(weight, stored);
  const Quantizer& quantizer = form.quantizer;
  const ScaleIndex scale_of(weight.shape, quantizer);
  const std::vector<double> scales = to_f64(quantizer.scale);
  const std::vector<double> zeros =
      quantizer.zero_point ? to_f64(*quantizer.zero_point) : std::vector<double>{0};
  const StoredRange range = stored_range(stored);
  Tensor codes = convert(weight, DType::f32);
  const std::span<float> values = elements<float>(codes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::size_t>(scale_of(static_cast<std::int64_t>(i)));
    const double code = std::nearbyint(values[i] / scales[at]) + zeros[zeros.size() == 1 ? 0 : at];
    values[i] = static_cast<float>(std::clamp(code, range.low, range.high));
  }
  return convert(codes, stored);
}

bool may_be_rounded(const QuantizedWeight& weight, DType stored) {
  if (weight.form == WeightForm::n_bits || weight.quantizer.block_size > 0) return false;
  if (weight.form == WeightForm::fake_quantized) return is_float(stored);
  return is_integer(stored) && bits(stored) >= 8;
}

}  // namespace

std::vector<UnroundedWeight> find_unrounded_weights(const FloatReference& reference,
                                                    const ModelIndex& candidate,
                                                    const WeightEvidence& weights) {
  const auto is_far = [](const PairedWeight& row) {
    return row.same && !row.equalised && row.steps && *row.steps > nearest_steps;
  };
  if (std::ranges::none_of(weights.weights, is_far)) return {};
  const auto expected = float_weights_of(reference, candidate, weights);
  const Quantization quantization = find_quantization(candidate);
  std::vector<UnroundedWeight> found;
  for (const PairedWeight& row : weights.weights) {
    const auto weight = expected.find(row.candidate);
    const auto form =
        std::ranges::find(quantization.weights, row.candidate, &QuantizedWeight::name);
    const auto* proto = candidate.main().initializer(row.candidate);
    if (!is_far(row) || weight == expected.end() || form == quantization.weights.end() || !proto)
      continue;
    const Tensor stored = candidate.model().tensor(*proto);
    if (!may_be_rounded(*form, stored.dtype) || stored.shape != weight->second.weight.shape ||
        !ScaleIndex::fits(stored.shape, form->quantizer))
      continue;
    Tensor rounded = stored_as(weight->second.weight, *form, stored.dtype);
    if (rounded.bytes == stored.bytes) continue;
    rounded.name = row.candidate;
    found.push_back({row.candidate, *row.steps, std::move(rounded)});
  }
  std::ranges::stable_sort(found, std::greater(), &UnroundedWeight::steps);
  return found;
}

Model with_rounded_weights(const Model& candidate, const std::vector<UnroundedWeight>& weights) {
  Model repaired = candidate.clone();
  for (auto& proto : *repaired.graph().mutable_initializer()) {
    const auto weight = std::ranges::find(weights, proto.name(), &UnroundedWeight::candidate);
    if (weight != weights.end()) proto = make_tensor_proto(weight->rounded);
  }
  return repaired;
}

}  // namespace vernier
