#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/placement.h"
#include "vernier/analysis/quantize/ranges.h"
#include "vernier/data/samples.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

class SampleRecords;

// Thread-safe access to samples. sample() throws Error if an input contains NaN.
class SharedSamples {
 public:
  explicit SharedSamples(Samples& samples) : samples_(samples) {}
  std::int64_t size() const { return samples_.size(); }
  std::vector<Tensor> sample(std::int64_t index);
  std::optional<Tensor> labels(std::int64_t index);
  std::int64_t number(std::int64_t index) const { return samples_.number(index); }

 private:
  Samples& samples_;
  std::mutex mutex_;
};

// The samples to run. Each thread runs one sample at a time.
struct SampleRuns {
  SharedSamples& samples;
  std::vector<std::int64_t> indices;  // of the samples to run, in this order
  int threads = 0;                    // 0 for one per core
  SampleRecords* records = nullptr;   // where measurements are looked up and kept; null for none
};

// Throws Error, naming the sample, if an output of the float model is not finite.
void require_finite(std::span<const Tensor> outputs, std::int64_t sample);

// Further uses of the calibration runs; called concurrently, except sample_done.
struct CalibrationHooks {
  std::vector<std::string> tensors = {};  // shown to `observe`
  std::function<void(const TensorView&)> observe = {};
  // `index` is a position in SampleRuns::indices.
  std::function<void(std::int64_t index, std::vector<Tensor> outputs)> outputs = {};
  std::function<void()> sample_done = {};  // never called concurrently
};

// Histograms of the float model's values over the samples, by root tensor of the plan. Memory use
// does not depend on the number of samples.
using CalibrationValues = std::map<std::string, ValueCounts>;
CalibrationValues calibrate(const Model& model, const PlacementPlan& plan, const SampleRuns& runs,
                            const CalibrationHooks& hooks = {});

// Applies one rule to every tensor.
CalibratedRanges ranges_by(RangeRule rule, const CalibrationValues& values, int bits);

}  // namespace vernier
