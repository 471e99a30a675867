#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/evidence/float_weights.h"
#include "vernier/model/model.h"

namespace vernier {

// The reference's constant of this name; nullopt if there is none. A runner's is in float32.
std::optional<Tensor> constant_named(const FloatReference& reference, const std::string& name);

// A quantized parameter of the candidate that is not the reference's parameter of its name,
// rounded: the gain of a norm, a factor or what is added.
struct OtherConstant {
  std::string candidate;  // the stored constant
  std::string real_name;  // the dequantized tensor
  double sqnr_db = 0;     // the reference's as signal, the difference as noise
  Tensor reference;       // in the candidate's shape
  bool operator==(const OtherConstant&) const = default;
};

// Compares the constants behind a DequantizeLinear or a Q-DQ pair, by name. One is another if it is
// below same_constant_db and off by more than a step, or below lost_constant_db: a scale that is
// far too large rounds everything away.
std::vector<OtherConstant> find_other_constants(const FloatReference& reference,
                                                const ModelIndex& candidate);

// The candidate with these replaced by the reference's, in float.
Model with_reference_constants(const Model& candidate, std::span<const OtherConstant> constants);

}  // namespace vernier
