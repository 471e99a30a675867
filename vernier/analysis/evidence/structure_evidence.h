#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vernier/analysis/layers/layers.h"

namespace vernier {

// An end of a quantizer's range that lets through what the Relu or Clip that it replaces cuts off.
struct LostEnd {
  bool is_low = false;
  double end = 0, bound = 0;  // of the range, and of the Relu or Clip
  bool operator==(const LostEnd&) const = default;
};

// Whether a candidate of lower precision computes the same function as its reference: the
// candidate's outputs in float32, without quantizers and with the reference's weights, are compared
// with the reference's.
struct StructureEvidence {
  std::string output;           // the output that agrees least
  double sqnr_db = 0;           // of that output, over the samples
  bool on_few = false;          // most samples agree: a rounded decision may have flipped on others
  std::string other_ids;        // an output of class ids, too few of which are equal; empty if none
  double equal_ids = 1;         // the share of them that is equal
  std::int64_t unswitched = 0;  // quantizers left on, or constants left rounded, that may show
  std::string first_unswitched;
  bool in_half = false;    // it takes inputs in half precision and computes in it, which shows
  bool only_fine = false;  // `unswitched` are all constants of 8 bits or more, rounded little
  bool explained = false;  // a run with more rounding of them shows that it makes the difference
  std::string origin;      // the layer where the candidate first differs; empty if not found
  Cause cause = Cause::none;
  LayerEvidence why;  // of the cause
  // If the origin's quantizer replaces a Relu or Clip, and nothing else differs.
  std::optional<LostEnd> lost_bound;
  bool operator==(const StructureEvidence&) const = default;
};

inline constexpr double same_structure_db = 60;   // correct candidates have at least this
inline constexpr double other_structure_db = 40;  // below, it is proven that the networks differ
// Correct candidates whose constants stayed rounded to 8 bits have at least this. Those rounded to
// half precision have 74 dB, so same_structure_db applies to them.
inline constexpr double rounded_structure_db = 25;

// What the rounding of half precision may take from both limits: the default limit on a worst
// sample in float16 is 35 dB.
inline double half_allowance_db(const StructureEvidence& evidence) {
  return evidence.in_half ? same_structure_db - 35 : 0;
}

// The least SQNR of a correct candidate.
inline double least_same_db(const StructureEvidence& evidence) {
  return same_structure_db - half_allowance_db(evidence);
}

// Whether the candidate is proven to be another network: neither a quantizer that stayed on nor a
// decision that flipped explains it.
inline bool is_other_network(const StructureEvidence& evidence) {
  return evidence.unswitched == 0 && !evidence.on_few &&
         !(evidence.sqnr_db >= other_structure_db - half_allowance_db(evidence));
}

// Whether it stays open if the candidate, which is not in half precision, is another function: what
// could not be switched off need not be what makes the difference.
inline bool is_unproven(const StructureEvidence& evidence) {
  return evidence.unswitched > 0 && !evidence.explained &&
         !(evidence.sqnr_db >= least_same_db(evidence));
}

// Whether more differs than rounding explains, though it may not prove another network.
inline bool differs_in_structure(const StructureEvidence& evidence) {
  const double least = evidence.unswitched == 0 ? least_same_db(evidence) : rounded_structure_db;
  return !(evidence.sqnr_db >= least) || !evidence.other_ids.empty();
}

// Whether quantizers are not the cause: without them, the candidate is hardly nearer to the
// reference than its outputs, of `output_db`, are with them.
inline bool gains_nothing_in_float(const StructureEvidence& evidence, double output_db) {
  constexpr double hardly_db = 3;
  return differs_in_structure(evidence) && evidence.sqnr_db <= output_db + hardly_db;
}

}  // namespace vernier
