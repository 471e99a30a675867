#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/debug/switched_noise.h"
#include "vernier/analysis/quantize/calibrate.h"

namespace vernier {

// A range to try for a tensor.
struct RangeTrial {
  std::string tensor;  // a root of the plan
  CalibratedRange range;
};

// The float model with a switch at each quantizer of a plan, to measure the effect of one quantizer
// alone on the outputs. A few samples then show differences between ranges that the noise of all
// other quantizers would hide.
class QuantizersAlone {
 public:
  QuantizersAlone(const ModelIndex& reference, const PlacementPlan& plan, const SampleRuns& runs,
                  std::int64_t samples);

  // The output noise of each trial: its tensor quantized on its range, everything else in float.
  std::vector<OutputNoise> measure(std::span<const RangeTrial> trials, int bits) const;

 private:
  std::map<std::string, std::size_t> switches_;  // by tensor
  mutable Switchboard board_;
  SwitchedNoise noise_;
};

}  // namespace vernier
