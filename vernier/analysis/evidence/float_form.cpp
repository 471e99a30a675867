#include "vernier/analysis/evidence/float_form.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "vernier/analysis/evidence/constant_evidence.h"
#include "vernier/analysis/evidence/float_parameters.h"
#include "vernier/analysis/evidence/widened_model.h"
#include "vernier/analysis/quantize/bias_correction.h"
#include "vernier/metrics/kernels.h"
#include "vernier/model/precision.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Whether the constant holds one number, or it and zeros, and the range ends there: nothing of it
// is rounded. Many a scale of a normalisation is 1 in every channel.
bool is_exact(std::span<const double> values, std::span<const double> steps) {
  constexpr double last_code = 127;
  const double number =
      values.empty()
          ? 0
          : *std::ranges::max_element(values, {}, [](double value) { return std::abs(value); });
  return steps.size() == 1 && std::abs(number / steps[0]) >= last_code - 0.5 &&
         std::ranges::all_of(values, [&](double value) { return value == 0 || value == number; });
}

// Whether the rounding error of a constant is too small to show in the outputs.
bool is_fine(const QuantizedWeight& constant) {
  const std::vector<double> values = to_f64(constant.real());
  const std::vector<double> steps = to_f64(constant.quantizer.scale);
  if (steps.empty()) return false;
  if (is_exact(values, steps)) return true;
  if (constant.quantizer.dtype != DType::i32) return false;
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    signal += values[i] * values[i];
    noise += steps[i % steps.size()] * steps[i % steps.size()] / 12;
  }
  return signal == 0 || 10 * std::log10(signal / noise) >= same_structure_db;
}

// Those whose quantization may show in the outputs.
std::vector<Unswitched> showing(std::vector<Unswitched> unswitched, const Quantization& found) {
  std::erase_if(unswitched, [&](const Unswitched& each) {
    const auto weight = std::ranges::find(found.weights, each.subject, &QuantizedWeight::name);
    return weight != found.weights.end() && is_fine(*weight);
  });
  return unswitched;
}

// The reference's bias of the layer that reads this stored bias of the candidate.
std::optional<Tensor> bias_of_layer(const std::map<std::string, FloatWeight>& weights,
                                    const ModelIndex& candidate, const TensorView& stored) {
  const std::string name(stored.name);
  for (const vernier_onnx::NodeProto* reader : candidate.main().consumers(name)) {
    if (input_name(*reader, 2) != name) continue;
    const WeightSource weight = candidate.main().weight_source(reader->input(1));
    const auto found = weight ? weights.find(weight.stored->name()) : weights.end();
    if (found == weights.end()) continue;
    if (const Tensor* bias = nearest_bias(found->second.biases, stored)) return copy(bias->view());
  }
  return std::nullopt;
}

// `vernier quantize` corrects biases for the mean error of rounding. In float32 there is no such
// error, so the reference's biases are put back. Returns the biases that stay corrected.
std::vector<std::string> restore_corrected(Model& model, const FloatReference& reference,
                                           const ModelIndex& candidate,
                                           const WeightEvidence& weights) {
  constexpr double corrected_db = 20;  // SQNR of a corrected bias against the original, at least
  std::vector<std::string> kept;
  std::optional<std::map<std::string, FloatWeight>> layers;
  for (auto& proto : *model.graph().mutable_initializer()) {
    if (!proto.name().ends_with(corrected_suffix)) continue;
    const Tensor corrected = model.tensor(proto);
    auto original = constant_named(
        reference, proto.name().substr(0, proto.name().size() - corrected_suffix.size()));
    if (!original && reference.runner) {
      if (!layers) layers = float_weights_of(reference, candidate, weights);
      original = bias_of_layer(*layers, candidate, corrected);
    }
    if (!original || original->dtype != corrected.dtype || original->size() != corrected.size() ||
        !(sqnr_db(measure_noise(*original, corrected)) >= corrected_db)) {
      kept.push_back(proto.name());
      continue;
    }
    original->name = corrected.name;
    original->shape = corrected.shape;
    proto = make_tensor_proto(*original);
  }
  return kept;
}

// Whether the reference is in float32.
bool is_wide(const ComparedModels& models) {
  return models.reference ? precision_of(*models.reference) == Precision::fp32
                          : FloatParameters(*models.reference_runner).are_wide();
}

}  // namespace

FloatForm float_form(const SwitchedModel& switched, const WeightEvidence& weights,
                     const ComparedRun& run) {
  FloatForm form{.model = switched_off({switched.model.clone(), {}, {}})};
  const ModelIndex& candidate = run.extended_index;
  const auto corrected = restore_corrected(form.model, run.read, candidate, weights);
  const Quantization quantization = find_quantization(candidate);
  for (const Unswitched& each : showing(switched.unswitched, quantization))
    form.rounded.push_back(each.subject);
  form.only_fine = std::ranges::all_of(form.rounded, [&](const std::string& name) {
    const auto weight = std::ranges::find(quantization.weights, name, &QuantizedWeight::name);
    const auto* operand = candidate.main().constant(name);  // of a QLinearAdd, for example
    return weight != quantization.weights.end() ? bits(weight->quantizer.dtype) >= 8
                                                : operand && bits(dtype_of(*operand)) >= 8;
  });
  // A reference model holds every original bias; a runner may not show it.
  if (!run.models.reference)
    form.rounded.insert(form.rounded.end(), corrected.begin(), corrected.end());
  return form;
}

std::optional<FloatForm> widened_form(const CompareResult& result, const ComparedRun& run) {
  const WeightEvidence weights = result.evidence.weights.value_or(WeightEvidence());
  if (!result.evidence.half || weights.answer != WeightEvidence::Answer::same ||
      run.extended.proto().functions_size() > 0 || !is_wide(run.models))
    return std::nullopt;
  WidenedModel model = widen(run.read, run.extended_index, weights);
  return FloatForm{std::move(model.model), std::move(model.rounded), !model.clamped};
}

}  // namespace vernier
