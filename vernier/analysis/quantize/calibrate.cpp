#include "vernier/analysis/quantize/calibrate.h"

#include <fmt/format.h>

#include <cmath>

#include "vernier/error.h"
#include "vernier/metrics/parallel.h"
#include "vernier/model/blocks.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

OrtOptions watching(std::vector<std::string> tensors) {
  return {.watch = Watch::only(std::move(tensors)), .exact = true, .threads = 1};
}

void add_values(ValueCounts& counts, const TensorView& tensor) {
  visit_blocks(tensor, [&](auto block) {
    if constexpr (std::is_same_v<typename decltype(block)::value_type, float>) {
      counts.add(block);
    } else {
      const std::vector<float> values(block.begin(), block.end());
      counts.add(values);
    }
  });
}

// Whether any element satisfies the predicate; false for integer tensors.
template <typename Predicate>
bool has(const TensorView& tensor, Predicate predicate) {
  if (!is_float(tensor.dtype)) return false;
  bool found = false;
  visit_blocks(tensor, [&](auto block) {
    for (const auto value : block) found = found || predicate(static_cast<double>(value));
  });
  return found;
}

}  // namespace

void require_finite(std::span<const Tensor> outputs, std::int64_t sample) {
  for (const Tensor& output : outputs)
    if (has(output, [](double value) { return !std::isfinite(value); }))
      throw Error(
          fmt::format("[quantize] sample {}: output '{}' of the float model is not finite on it, "
                      "so nothing can be compared; leave it out",
                      sample, output.name));
}

std::vector<Tensor> SharedSamples::sample(std::int64_t index) {
  std::vector<Tensor> sample = [&] {
    const std::lock_guard lock(mutex_);
    return samples_.sample(index);
  }();
  for (const Tensor& input : sample)
    if (has(input, [](double value) { return std::isnan(value); }))
      throw Error(fmt::format(
          "[quantize] sample {}: '{}' holds NaN, which no range can be measured of; leave it out",
          samples_.number(index), input.name));
  return sample;
}

std::optional<Tensor> SharedSamples::labels(std::int64_t index) {
  const std::lock_guard lock(mutex_);
  return samples_.labels(index);
}

CalibrationValues calibrate(const Model& model, const PlacementPlan& plan, const SampleRuns& runs,
                            const CalibrationHooks& hooks) {
  CalibrationValues values;
  std::vector<std::string> watched;
  std::map<std::string, std::mutex, std::less<>> mutexes;
  for (const PlacedTensor& tensor : plan.tensors)
    if (plan.tensors[tensor.root].name == tensor.name) {
      values.emplace(tensor.name, ValueCounts{});
      mutexes[tensor.name];
      watched.push_back(tensor.name);
    }
  for (const std::string& tensor : hooks.tensors)
    if (!values.contains(tensor)) watched.push_back(tensor);
  std::erase_if(watched, [&](const std::string& name) {
    return std::ranges::any_of(model.inputs(),
                               [&](const auto& input) { return input.name == name; });
  });
  OrtRunner runner(model.clone(), watching(std::move(watched)));
  const auto add = [&](const TensorView& tensor) {
    if (hooks.observe) hooks.observe(tensor);
    const auto mutex = mutexes.find(tensor.name);
    if (mutex == mutexes.end()) return;
    const std::lock_guard lock(mutex->second);
    add_values(values.at(std::string(tensor.name)), tensor);
  };
  std::mutex done;
  parallel_for(std::ssize(runs.indices), thread_count(runs.threads), [&](std::int64_t i) {
    const std::vector<Tensor> inputs = runs.samples.sample(runs.indices[i]);
    for (const Tensor& input : inputs) add(input);
    std::vector<Tensor> outputs =
        runner.run(inputs, [&](const ObservedTensor& tensor) { add(tensor); });
    require_finite(outputs, runs.samples.number(runs.indices[i]));
    if (hooks.outputs) hooks.outputs(i, std::move(outputs));
    const std::lock_guard lock(done);
    if (hooks.sample_done) hooks.sample_done();
  });
  return values;
}

CalibratedRanges ranges_by(RangeRule rule, const CalibrationValues& values, int bits) {
  CalibratedRanges ranges;
  for (const auto& [tensor, counts] : values)
    ranges.emplace(tensor, range_by(rule, counts, std::ldexp(1.0, bits) - 1));
  return ranges;
}

}  // namespace vernier
