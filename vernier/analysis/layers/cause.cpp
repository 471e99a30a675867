#include "vernier/analysis/layers/cause.h"

namespace vernier {

std::string_view cause_name(Cause cause) {
  switch (cause) {
    case Cause::none: return "none";
    case Cause::weight_bit_mismatch: return "weight_bit_mismatch";
    case Cause::layout_mismatch: return "layout_mismatch";
    case Cause::missing_or_extra_op: return "missing_or_extra_op";
    case Cause::attribute_mismatch: return "attribute_mismatch";
    case Cause::operand_mismatch: return "operand_mismatch";
    case Cause::other_weights: return "other_weights";
    case Cause::precision_loss: return "precision_loss";
    case Cause::nonfinite: return "nonfinite";
    case Cause::rounding: return "rounding";
    case Cause::op_implementation: return "op_implementation";
    case Cause::inherited: return "inherited";
    case Cause::unknown: return "unknown";
  }
  return "";
}

}  // namespace vernier
