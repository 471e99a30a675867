#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/progress.h"
#include "vernier/analysis/quantize/placement.h"
#include "vernier/analysis/quantize/ranges.h"
#include "vernier/data/samples.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

class SampleRecords;

// Samples that several threads may read. Throws Error for one that holds NaN.
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

// How samples are run: a thread takes a sample at a time.
struct SampleRuns {
  SharedSamples& samples;
  std::vector<std::int64_t> indices;  // of the samples to run
  int threads = 0;                    // 0: one for each core
  SampleRecords* records = nullptr;   // of what was measured before; null: none are kept
};

// Throws Error for outputs of the float model that are not finite, and names the sample.
void require_finite(std::span<const Tensor> outputs, std::int64_t sample);

// What else runs of the float model are used for; each is called by several threads.
struct CalibrationHooks {
  std::vector<std::string> tensors = {};  // to be shown to `observe`
  std::function<void(const TensorView&)> observe = {};
  std::function<void(std::int64_t index, std::vector<Tensor> outputs)> outputs = {};  // of the runs
  std::function<void()> sample_done = {};  // one at a time
};

// The values of each placed tensor that is a root, over the samples, as the float model computes
// them. Memory does not depend on the number of samples.
using CalibrationValues = std::map<std::string, ValueCounts>;
CalibrationValues calibrate(const Model& model, const PlacementPlan& plan, const SampleRuns& runs,
                            const CalibrationHooks& hooks = {});

// Ranges by one rule for all.
CalibratedRanges ranges_by(RangeRule rule, const CalibrationValues& values, int bits);

}  // namespace vernier
