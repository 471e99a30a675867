#include "vernier/analysis/debug/observe.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "vernier/analysis/pairing/by_name.h"
#include "vernier/metrics/value_range.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/of_values.h"

namespace vernier {
namespace {

// The stored integers of a per-tensor quantizer; empty for other quantizers.
Tensor quantize(const TensorView& real, const Quantizer& quantizer) {
  if (quantizer.scale.size() != 1 || !is_integer(quantizer.dtype)) return {};
  const double scale = to_f64(quantizer.scale)[0];
  const double zero_point = quantizer.zero_point ? to_f64(*quantizer.zero_point)[0] : 0;
  Tensor numbers = convert(fake_quantize(real, quantizer), DType::f64);
  for (double& number : elements<double>(numbers))
    number = std::nearbyint(number / scale) + zero_point;
  return convert(numbers, quantizer.dtype);
}

void add_to(std::optional<NoiseSums>& total, const std::optional<NoiseSums>& more) {
  if (more) total = total ? pool(*total, *more) : more;
}

Tensor clamp(const TensorView& tensor, const ClipRange& range) {
  Tensor clamped = convert(tensor, DType::f32);
  for (float& value : elements<float>(clamped))
    value = static_cast<float>(std::clamp<double>(value, range.low, range.high));
  return clamped;
}

// The quantizer that DynamicQuantizeLinear uses for this tensor: uint8, range extended to zero.
Quantizer dynamic_quantizer(const TensorView& real) {
  const auto [low, high] = value_range(to_f32(real));
  const auto lowest = static_cast<float>(std::fmin(low, 0)),
             highest = static_cast<float>(std::fmax(high, 0));
  const float scale = highest > lowest ? (highest - lowest) / 255 : 1;
  return {.scale = scalar_tensor(DType::f32, scale),
          .zero_point =
              scalar_tensor(DType::u8, std::clamp(std::nearbyint(-lowest / scale), 0.0F, 255.0F))};
}

// Elements that are finite in the reference and NaN or infinite in the candidate.
std::int64_t count_nonfinite(const TensorView& reference, const TensorView& candidate) {
  const std::vector<double> expected = to_f64(reference), found = to_f64(candidate);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    count += std::isfinite(expected[i]) && !std::isfinite(found[i]);
  return count;
}

// Compares with the float model. Non-finite elements are only counted if a sum is not finite.
template <typename Sums>
void compare_with_float(const TensorView& reference, const TensorView& candidate, Sums& sums) {
  const NoiseSums noise = measure_noise(reference, candidate);
  add_to(sums.cumulative, noise);
  if (!std::isfinite(noise.difference_squares))
    sums.nonfinite += count_nonfinite(reference, candidate);
}

std::vector<OutputSums> compare_outputs(const LockstepOutputs& outputs, SharedObservations& shared,
                                        std::int64_t sample) {
  const OutputPairing pairing =
      pair_outputs(outputs.reference, outputs.candidate, shared.plan.mapped_outputs);
  std::vector<OutputSums> rows;
  for (const Tensor& output : outputs.candidate)
    rows.push_back({.name = output.name, .status = PairStatus::only_in_candidate});
  Tensor permuted;
  for (const OutputPair& pair : pairing.pairs) {
    const Tensor &reference = outputs.reference[pair.reference],
                 &candidate = outputs.candidate[pair.candidate];
    OutputSums& row = rows[pair.candidate];
    if (pair.match == Match::position) row.reference_in_place = reference.name;
    const Tensor* relaid = shared.relayout(shared.plan.tensors.size() + pair.candidate, reference,
                                           candidate, permuted);
    row.status = relaid ? PairStatus::compared : PairStatus::shape_mismatch;
    if (relaid) {
      compare_with_float(*relaid, candidate, row);
      if (candidate.name == shared.plan.logits) row.kl = kl_of_rows(*relaid, candidate);
      if (shared.show_pair && sample == 0)
        shared.show_pair("output", candidate.name, *relaid, candidate);
    } else {
      row.reference_shape = reference.shape;
      row.candidate_shape = candidate.shape;
    }
  }
  for (const std::size_t output : pairing.only_reference)
    rows.push_back(
        {.name = outputs.reference[output].name, .status = PairStatus::only_in_reference});
  return rows;
}

}  // namespace

bool fits(const SampleSums& total, const SampleSums& sample) {
  return sample.tensors.size() == total.tensors.size() &&
         sample.histograms.size() == total.histograms.size() &&
         sample.outputs.size() == total.outputs.size() &&
         std::ranges::all_of(sample.order,
                             [&](std::size_t index) { return index < total.tensors.size(); });
}

void pool_into(SampleSums& total, const SampleSums& sample) {
  total.tensors.resize(sample.tensors.size());
  for (std::size_t i = 0; i < total.tensors.size(); ++i) {
    const TensorSums& more = sample.tensors[i];
    TensorSums& sums = total.tensors[i];
    add_to(sums.local, more.local);
    add_to(sums.intended, more.intended);
    add_to(sums.cumulative, more.cumulative);
    add_to(sums.signal, more.signal);
    sums.observed = pool(sums.observed, more.observed);
    sums.nonfinite += more.nonfinite;
    sums.nonfinite_inputs += more.nonfinite_inputs;
  }
  total.histograms.resize(sample.histograms.size());
  for (std::size_t i = 0; i < total.histograms.size(); ++i)
    total.histograms[i].add(sample.histograms[i]);
  if (total.order != sample.order)  // only control flow changes the order
    for (const std::size_t index : sample.order)
      if (std::ranges::find(total.order, index) == total.order.end()) total.order.push_back(index);
  if (total.outputs.empty()) {
    total.outputs = sample.outputs;
    return;
  }
  for (std::size_t i = 0; i < total.outputs.size(); ++i) {
    const OutputSums& more = sample.outputs[i];
    OutputSums& sums = total.outputs[i];
    add_to(sums.cumulative, more.cumulative);
    sums.nonfinite += more.nonfinite;
    sums.kl += more.kl;
    if (more.status != PairStatus::shape_mismatch) continue;
    sums.status = more.status;
    sums.reference_shape = more.reference_shape;
    sums.candidate_shape = more.candidate_shape;
  }
}

SharedObservations::SharedObservations(DebugPlan made, std::size_t outputs, ShowPair show)
    : plan(std::move(made)),
      show_pair(std::move(show)),
      relayouts_(plan.tensors.size() + outputs) {}

const Tensor* SharedObservations::relayout(std::size_t pair, const Tensor& reference,
                                           const TensorView& candidate, Tensor& permuted) {
  if (std::ranges::equal(reference.shape, candidate.shape)) return &reference;
  const std::lock_guard lock(relayout_mutex_);
  const Tensor* found = relayouts_[pair](reference, candidate);
  if (!found || found == &reference) return found;
  permuted = *found;
  return &permuted;
}

std::string SharedObservations::layout(std::size_t pair) const {
  return pair < relayouts_.size() ? relayouts_[pair].description() : "";
}

SampleObserver::SampleObserver(SharedObservations& shared, std::int64_t sample)
    : shared_(shared), sample_(sample), held_(shared.plan.tensors.size()) {
  sums_.tensors.resize(held_.size());
  sums_.histograms.resize(held_.size());
}

void SampleObserver::observe(const ObservedTensor& tensor, const TakeReference& take) {
  const DebugPlan::Observed* observed = shared_.plan.at(tensor.name);
  if (!observed) return;
  if (!observed->before.empty()) observe_input(observed->before, tensor);
  for (const std::size_t index : observed->after) observe_output(index, tensor, take);
  for (const std::size_t index : observed->dynamic) observe_dynamic(index, tensor, take);
}

SampleSums SampleObserver::finish(const LockstepOutputs& outputs) && {
  sums_.outputs = compare_outputs(outputs, shared_, sample_);
  return std::move(sums_);
}

void SampleObserver::observe_input(const std::vector<std::size_t>& tensors,
                                   const ObservedTensor& before) {
  std::vector<float> widened;
  if (before.dtype != DType::f32) widened = to_f32(before);
  const std::span<const float> values =
      before.dtype == DType::f32 ? elements<float>(before) : std::span<const float>(widened);
  for (const std::size_t index : tensors) {
    const auto& range = shared_.plan.tensors[index].range;
    if (!range) continue;
    const ObservedValues observed = observe_values(values, *range);
    sums_.histograms[index].add(values, sample_, observed.largest_magnitude(),
                                shared_.plan.tensors[index].folded.value_or(ClipRange{}));
    sums_.tensors[index].observed = pool(sums_.tensors[index].observed, observed);
  }
  HeldInput& held = held_[tensors.front()];
  held.uses = static_cast<int>(tensors.size());
  held.view = before;
  const std::string& after = shared_.plan.tensors[tensors.front()].activation.after;
  if (!after.empty() && before.stays_until == after) return;
  held.copy = copy(before);
  held.view = held.copy;
}

void SampleObserver::observe_output(std::size_t index, const TensorView& tensor,
                                    const TakeReference& take) {
  const QuantizedActivation& activation = shared_.plan.tensors[index].activation;
  sums_.order.push_back(index);
  Tensor real;
  TensorView after = tensor;
  if (activation.after.empty()) {
    real = dequantize(tensor, activation.quantizer);
    after = real;
  }
  compare_local(index, after);
  compare_cumulative(index, after, take);
}

void SampleObserver::observe_dynamic(std::size_t index, const TensorView& tensor,
                                     const TakeReference& take) {
  sums_.order.push_back(index);
  const Tensor after = fake_quantize(tensor, dynamic_quantizer(tensor));
  add_to(sums_.tensors[index].local, measure_noise(tensor, after));
  compare_cumulative(index, after, take);
}

void SampleObserver::compare_local(std::size_t index, const TensorView& after) {
  const PlannedTensor& planned = shared_.plan.tensors[index];
  TensorSums& sums = sums_.tensors[index];
  if (planned.activation.before.empty()) return add_to(sums.signal, measure_noise(after, after));
  HeldInput& held = held_[shared_.plan.at(planned.activation.before)->before.front()];
  if (held.uses == 0) return;
  if (held.view.size() == after.size()) {
    const NoiseSums noise = measure_noise(held.view, after);
    add_to(sums.local, noise);
    if (!std::isfinite(noise.reference_squares))
      sums.nonfinite_inputs += count_nonfinite(after, held.view);
    if (planned.folded)
      add_to(sums.intended, measure_noise(clamp(held.view, *planned.folded), after));
  }
  if (--held.uses == 0) held.copy = {};
}

void SampleObserver::compare_cumulative(std::size_t index, const TensorView& after,
                                        const TakeReference& take) {
  const Counterpart& counterpart = shared_.plan.tensors[index].counterpart;
  const Tensor* reference = counterpart ? take(counterpart.tensor) : nullptr;
  if (reference) reference = shared_.relayout(index, *reference, after, permuted_);
  if (!reference) return;
  compare_with_float(*reference, after, sums_.tensors[index]);
  if (shared_.show_pair && sample_ == 0)
    shared_.show_pair("tensor", shared_.plan.tensors[index].activation.name, *reference, after);
  observe_counterpart(index, *reference);
}

// A quantizer inside an operator: its input is only observable in the float model.
void SampleObserver::observe_counterpart(std::size_t index, const Tensor& reference) {
  const QuantizedActivation& activation = shared_.plan.tensors[index].activation;
  if (!activation.before.empty() || activation.stored.empty()) return;
  if (const auto range = representable_range(activation.quantizer)) {
    ObservedValues& observed = sums_.tensors[index].observed;
    observed = pool(observed, observe_values(to_f32(reference), *range));
  }
}

IntroducedObserver::IntroducedObserver(SharedObservations& shared, std::vector<TensorSums>& sums)
    : shared_(shared), sums_(sums), behind_(sums.size()) {}

std::vector<std::byte> IntroducedObserver::observe(const ObservedTensor& tensor,
                                                   const TakeReference& take) {
  const DebugPlan::Observed* observed = shared_.plan.at(tensor.name);
  if (!observed) return {};
  Tensor replacement;
  for (const std::size_t index : observed->before) {
    behind_[index] = tensor.writable.empty();
    if (!behind_[index])
      compare(index, tensor, fake_quantize(tensor, quantizer(index)), take, replacement);
  }
  for (const std::size_t index : observed->dynamic)
    compare(index, tensor, fake_quantize(tensor, dynamic_quantizer(tensor)), take, replacement);
  for (const std::size_t index : observed->after) {
    const QuantizedActivation& activation = shared_.plan.tensors[index].activation;
    if (!behind_[index] && !activation.before.empty()) continue;
    if (activation.after.empty()) {
      compare_stored(index, tensor, take, replacement);
      continue;
    }
    compare(index, tensor, tensor, take, replacement);
    if (behind_[index] && !replacement.bytes.empty())
      replacement = fake_quantize(replacement, quantizer(index));
  }
  return std::move(replacement.bytes);
}

// For an operator that writes integers itself.
void IntroducedObserver::compare_stored(std::size_t index, const TensorView& stored,
                                        const TakeReference& take, Tensor& replacement) {
  const Tensor real = dequantize(stored, quantizer(index));
  compare(index, real, real, take, replacement);
  if (!replacement.bytes.empty()) replacement = quantize(replacement, quantizer(index));
}

// Measures `quantized`; `tensor` is what is replaced.
void IntroducedObserver::compare(std::size_t index, const TensorView& tensor,
                                 const TensorView& quantized, const TakeReference& take,
                                 Tensor& replacement) {
  const Counterpart& counterpart = shared_.plan.tensors[index].counterpart;
  Tensor permuted;
  const Tensor* reference = counterpart ? take(counterpart.tensor) : nullptr;
  if (reference) reference = shared_.relayout(index, *reference, tensor, permuted);
  if (!reference) return;
  add_to(sums_[index].introduced, measure_noise(*reference, quantized));
  if (reference->dtype == tensor.dtype) replacement = *reference;
}

const Quantizer& IntroducedObserver::quantizer(std::size_t index) const {
  return shared_.plan.tensors[index].activation.quantizer;
}

}  // namespace vernier
