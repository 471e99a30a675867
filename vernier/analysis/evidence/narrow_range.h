#pragma once

#include <optional>
#include <string>

#include "vernier/analysis/evidence/calibration_fit.h"
#include "vernier/data/samples.h"
#include "vernier/model/insert_switches.h"
#include "vernier/model/model.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

// A quantizer whose range is too narrow for what goes into it, or far too wide.
struct NarrowRange {
  std::string tensor;
  double overflow = 0;            // what goes into it, or should, over the largest representable
  std::optional<double> gain_db;  // of the outputs with a range that fits, if measured
  bool operator==(const NarrowRange&) const = default;
};

inline constexpr double costly_db = 3;  // that a range that fits may better the outputs by, at most

// Made-up inputs are drawn in the range of the input's own quantizer and never exceed it. Where the
// tensors of the reference that follow the input fill their counterparts' ranges far better with
// inputs several times as large, that range is too narrow. Nothing: it is not, or cannot be told.
std::optional<NarrowRange> find_narrow_input(const Model& reference, const Model& candidate,
                                             Samples& samples, const OrtOptions& runtime);

// Runs a candidate on the first samples with ranges that fit what goes into them, as all of its
// quantizers off show it. Of those that cut something off, or leave most of their codes unused, the
// one whose fitting range betters the outputs most, where that is costly; nothing where the outputs
// are good on real inputs. `model` as switch_quantizers() made it of weights that are the same.
std::optional<NarrowRange> find_costly_range(SwitchedModel model, Samples& samples,
                                             const OrtOptions& runtime, bool real_inputs);

}  // namespace vernier
