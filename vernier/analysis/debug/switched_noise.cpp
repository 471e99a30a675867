#include "vernier/analysis/debug/switched_noise.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/error.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/parallel.h"
#include "vernier/metrics/similarity.h"
#include "vernier/metrics/token_scores.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Stacked samples take about this many bytes of inputs.
constexpr std::int64_t stacked_bytes = 1 << 20;
constexpr std::int64_t most_stacked = 32;
constexpr std::int64_t error_elements = 1 << 15;
// Settings that one thread runs in a row, each reusing the parts of the run before.
constexpr std::int64_t most_in_a_row = 32;

// The part of a stacked tensor that belongs to one sample.
TensorView row_of(const Tensor& tensor, std::int64_t samples, std::int64_t index) {
  const std::size_t bytes = tensor.bytes.size() / static_cast<std::size_t>(samples);
  return {tensor.name, tensor.dtype, std::span(tensor.shape).subspan(samples > 1 ? 1 : 0),
          std::span(tensor.bytes).subspan(static_cast<std::size_t>(index) * bytes, bytes)};
}

std::vector<Tensor> stacked(std::span<const std::vector<Tensor>> samples) {
  std::vector<Tensor> result = samples[0];
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (const std::vector<Tensor>& sample : samples.subspan(1))
      result[i].bytes.insert(result[i].bytes.end(), sample[i].bytes.begin(), sample[i].bytes.end());
    result[i].shape[0] = std::ssize(samples);
  }
  return result;
}

}  // namespace

SwitchedNoise::SwitchedNoise(Switchboard& board, std::vector<std::vector<Tensor>> samples,
                             int threads, const std::string& logits)
    : board_(board), threads_(thread_count(threads)), count_(std::ssize(samples)) {
  for (std::size_t i = 0; i < board.outputs().size(); ++i)
    if (!logits.empty() && board.outputs()[i].name == logits) logits_ = i;
  if (can_be_stacked(samples))
    stack(samples);
  else
    for (std::vector<Tensor>& sample : samples) batches_.push_back({std::move(sample)});
  run_off();
}

// Samples can be stacked if all inputs and outputs have a batch axis, no quantizer is dynamic, and
// the outputs for two stacked samples are those of each sample.
bool SwitchedNoise::can_be_stacked(const std::vector<std::vector<Tensor>>& samples) const {
  if (samples.size() < 2) return false;
  const auto is_batch = [](const TensorSpec& spec) {
    return spec.ranked && !spec.shape.empty() && spec.shape[0].is_dynamic();
  };
  if (!std::ranges::all_of(board_.inputs(), is_batch)) return false;
  if (std::ranges::any_of(board_.switches(), &Switch::is_dynamic)) return false;
  for (const std::vector<Tensor>& sample : samples)
    for (std::size_t i = 0; i < sample.size(); ++i)
      if (sample[i].shape.empty() || sample[i].shape[0] != 1 ||
          sample[i].shape != samples[0][i].shape)
        return false;
  try {
    const SwitchSettings off = board_.all(SwitchSetting::off());
    const std::vector<Tensor> both = board_.run(stacked(std::span(samples).first(2)), off);
    for (std::int64_t s = 0; s < 2; ++s) {
      const std::vector<Tensor> alone = board_.run(samples[static_cast<std::size_t>(s)], off);
      for (std::size_t i = 0; i < alone.size(); ++i) {
        if (both[i].shape.empty() || both[i].shape[0] != 2 ||
            both[i].bytes.size() != 2 * alone[i].bytes.size())
          return false;
        if (!(sqnr_db(measure_noise(alone[i], row_of(both[i], 2, s))) >= rounding_db)) return false;
      }
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

void SwitchedNoise::stack(std::vector<std::vector<Tensor>>& samples) {
  std::int64_t bytes = 0;
  for (const Tensor& input : samples[0]) bytes += std::ssize(input.bytes);
  const std::int64_t most =
      std::clamp<std::int64_t>(stacked_bytes / std::max<std::int64_t>(1, bytes), 1, most_stacked);
  for (std::int64_t begin = 0; begin < count_; begin += most) {
    const std::int64_t length = std::min(most, count_ - begin);
    batches_.push_back({stacked(std::span(samples).subspan(begin, length)), length});
  }
}

void SwitchedNoise::run_off() {
  const SwitchSettings off = board_.all(SwitchSetting::off());
  parallel_for(std::ssize(batches_), threads_, [&](std::int64_t i) {
    Batch& batch = batches_[static_cast<std::size_t>(i)];
    batch.real = board_.run(batch.inputs, off);
  });
  weights_.assign(board_.outputs().size(), 0);
  for (std::size_t i = 0; i < weights_.size(); ++i)
    for (const Batch& batch : batches_)
      if (is_float(batch.real[i].dtype))
        weights_[i] += measure_noise(batch.real[i], batch.real[i]).reference_squares;
  const auto counted = std::ranges::count_if(
      weights_, [](double signal) { return std::isfinite(signal) && signal > 0; });
  if (counted == 0) throw Error("[debug] no output holds float numbers other than 0");
  for (double& weight : weights_)
    weight = std::isfinite(weight) && weight > 0 ? 1 / (weight * static_cast<double>(counted)) : 0;
}

OutputNoise SwitchedNoise::none() const {
  OutputNoise noise;
  for (std::size_t i = 0; i < weights_.size(); ++i)
    if (weights_[i] > 0) noise.outputs.push_back({board_.outputs()[i].name, {}, {}});
  if (logits_) noise.kl.emplace();
  return noise;
}

void SwitchedNoise::add_noise(OutputNoise& noise, const Batch& batch,
                              const std::vector<Tensor>& outputs) const {
  const auto add = [](SampledRatio& ratio, double over, double under) {
    ratio.over.push_back(std::isnan(over) ? INFINITY : over);
    ratio.under.push_back(under);
  };
  for (std::int64_t s = 0; s < batch.samples; ++s) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (weights_[i] == 0) continue;
      const NoiseSums sums = measure_noise(row_of(batch.real[i], batch.samples, s),
                                           row_of(outputs[i], batch.samples, s));
      add(noise.outputs[next++], sums.difference_squares, sums.reference_squares);
    }
    if (!logits_) continue;
    const KlSum kl = kl_of_rows(row_of(batch.real[*logits_], batch.samples, s),
                                row_of(outputs[*logits_], batch.samples, s));
    add(*noise.kl, kl.sum, static_cast<double>(kl.rows));
  }
}

void SwitchedNoise::add_error(std::vector<float>& error, const Batch& batch,
                              const std::vector<Tensor>& outputs) const {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (weights_[i] == 0) continue;
    const std::vector<float> real = to_f32(batch.real[i]), found = to_f32(outputs[i]);
    const std::size_t stride = std::max<std::size_t>(
        1, real.size() * batches_.size() / static_cast<std::size_t>(error_elements));
    const auto scale = static_cast<float>(std::sqrt(weights_[i]));
    for (std::size_t j = 0; j < real.size(); j += stride)
      error.push_back((found[j] - real[j]) * scale);
  }
}

void SwitchedNoise::run_all(std::span<const SwitchSettings> settings, const Found& found,
                            const std::function<bool(std::size_t)>& done) const {
  const std::vector<std::size_t> order = board_.order_of_runs(settings);
  const auto count = std::ssize(order);
  const std::int64_t length = std::clamp<std::int64_t>(count / threads_, 1, most_in_a_row);
  std::mutex mutex;
  std::size_t finished = 0;
  std::atomic<bool> stopped = false;
  parallel_for((count + length - 1) / length, threads_, [&](std::int64_t i) {
    const auto row = std::span(order).subspan(i * length, std::min(length, count - i * length));
    for (const Batch& batch : batches_) {
      SwitchedRuns runs(board_, batch.inputs);
      for (const std::size_t setting : row) {
        if (stopped) return;
        found(setting, batch, runs.run(settings[setting]));
      }
    }
    if (!done) return;
    const std::lock_guard lock(mutex);
    finished += row.size();
    if (!done(finished)) stopped = true;
  });
}

OutputNoise SwitchedNoise::measure(const SwitchSettings& settings) const {
  return measure_all({&settings, 1})[0];
}

std::vector<OutputNoise> SwitchedNoise::measure_all(
    std::span<const SwitchSettings> settings, const std::function<bool(std::size_t)>& done) const {
  std::vector<OutputNoise> noise(settings.size(), none());
  run_all(
      settings,
      [&](std::size_t setting, const Batch& batch, const std::vector<Tensor>& outputs) {
        add_noise(noise[setting], batch, outputs);
      },
      done);
  return noise;
}

std::vector<std::vector<float>> SwitchedNoise::errors(
    std::span<const SwitchSettings> settings) const {
  std::vector<std::vector<float>> errors(settings.size());
  run_all(settings,
          [&](std::size_t setting, const Batch& batch, const std::vector<Tensor>& outputs) {
            add_error(errors[setting], batch, outputs);
          });
  return errors;
}

void SwitchedNoise::observe(const SwitchSettings& settings, const Observer& observer) const {
  for (const Batch& batch : batches_) board_.run(batch.inputs, settings, observer);
}

void SwitchedNoise::observe_first(const SwitchSettings& settings, const Observer& observer) const {
  if (!batches_.empty()) board_.run(batches_.front().inputs, settings, observer);
}

std::vector<Tensor> SwitchedNoise::outputs(std::int64_t sample,
                                           const SwitchSettings& settings) const {
  for (const Batch& batch : batches_) {
    if (sample >= batch.samples) {
      sample -= batch.samples;
      continue;
    }
    std::vector<Tensor> inputs;
    for (const Tensor& input : batch.inputs) {
      inputs.push_back(copy(row_of(input, batch.samples, sample)));
      inputs.back().shape = input.shape;
      if (batch.samples > 1) inputs.back().shape[0] = 1;
    }
    std::vector<Tensor> rows;
    for (const Tensor& output : board_.run(inputs, settings)) {
      rows.push_back(output);
      if (batch.samples > 1) rows.back().shape.erase(rows.back().shape.begin());
    }
    return rows;
  }
  return {};
}

}  // namespace vernier
