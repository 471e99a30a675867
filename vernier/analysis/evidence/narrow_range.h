#pragma once

#include <optional>
#include <string>

#include "vernier/analysis/evidence/calibration_fit.h"
#include "vernier/data/samples.h"
#include "vernier/model/quantizer.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

struct SwitchedModel;

// A quantizer whose range is too narrow, or far too wide, for the values that go into it.
struct NarrowRange {
  std::string tensor;
  double overflow = 0;            // factor by which the range has to grow; below 1 if too wide
  std::optional<double> gain_db;  // of the outputs with a fitting range; nullopt if not measured
  RealRange range, seen;          // in use, and of the values; of find_costly_range() only
  bool operator==(const NarrowRange&) const = default;
};

inline constexpr double costly_db = 3;  // a range is costly if a fitting one gains more

// Synthetic inputs are drawn in the range of the input's own quantizer and never exceed it. If
// inputs several times as large make the reference's tensors fill their counterparts' ranges far
// better, the input's range is too narrow. nullopt if it is not, or if it cannot be told.
std::optional<NarrowRange> find_narrow_input(const ModelIndex& reference,
                                             const ModelIndex& candidate, Samples& samples,
                                             const OrtOptions& runtime);

// Runs a candidate on the first samples, with ranges fitted to the values observed with all
// quantizers off. Of the ranges that cut off values or leave most codes unused, returns the one
// whose fit gains most, if that is costly; nullopt also if outputs on real inputs are good. `model`
// comes from switch_quantizers() with weights that are the same.
std::optional<NarrowRange> find_costly_range(SwitchedModel model, Samples& samples,
                                             const OrtOptions& runtime, bool real_inputs);

}  // namespace vernier
