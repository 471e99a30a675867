#pragma once

#include <cstdint>
#include <string>

namespace vernier {

// Whether a candidate of lower precision computes what its reference does, but for its precision:
// its outputs in float32, without quantizers and with the reference's weights, against the
// reference's.
struct StructureEvidence {
  std::string output;           // that agrees least
  double sqnr_db = 0;           // of it, on the mean
  std::int64_t unswitched = 0;  // quantizers that stayed on and may show, or constants that stayed
                                // rounded to half precision, and
  std::string first_unswitched;
  bool only_fine = false;    // these are constants of 8 bits or more, whose rounding is little
  std::string origin;        // the layer where another network leaves the reference; "": not found
  std::string origin_cause;  // "attribute_mismatch: pads is 0 0 2 2, the reference's 1 1 1 1"
  bool lost_bound =
      false;  // the quantizer there stands for a Relu or Clip, and is all that differs
  bool operator==(const StructureEvidence&) const = default;
};

inline constexpr double same_structure_db = 60;   // at least, of right pairs
inline constexpr double other_structure_db = 40;  // below, another network is proven
// At least, of right pairs where constants stayed rounded to 8 bits; to half precision, these had
// 74 dB, and same_structure_db is asked for.
inline constexpr double rounded_structure_db = 25;

// Whether it is proven that the candidate is another network: nothing that was left on explains it.
inline bool is_other_network(const StructureEvidence& evidence) {
  return evidence.unswitched == 0 && !(evidence.sqnr_db >= other_structure_db);
}

}  // namespace vernier
