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

// The float model with a switch at each tensor that a plan places a quantizer at: what one
// quantizer alone does to the outputs. Where noise of all the others would hide the difference
// between two ranges, a few samples tell it.
class QuantizersAlone {
 public:
  QuantizersAlone(const Model& reference, const PlacementPlan& plan, const SampleRuns& runs,
                  std::int64_t samples);

  // The noise at the outputs with each trial's tensor on its range, and nothing else quantized.
  std::vector<OutputNoise> measure(std::span<const RangeTrial> trials, int bits) const;

 private:
  std::map<std::string, std::size_t> switches_;  // by tensor
  mutable Switchboard board_;
  SwitchedNoise noise_;
};

}  // namespace vernier
