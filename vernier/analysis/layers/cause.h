#pragma once

#include <string_view>

namespace vernier {

// Why a layer differs: the first that holds, in this order.
enum class Cause {
  none,                 // it does not
  weight_bit_mismatch,  // a parameter is not its initializer
  layout_mismatch,      // the same values in another order of axes
  missing_or_extra_op,  // Dropout or BatchNorm in training mode, an operator left out
  attribute_mismatch,   // the same operator with other pads, epsilon, slope...
  operand_mismatch,     // the same operator on operands in another order
  other_weights,        // those of another checkpoint, all over the model
  precision_loss,       // something below float32 on the way
  nonfinite,            // NaN or infinity on one side
  rounding,             // no further from the truth than the reference itself
  op_implementation,    // same inputs, same weights, other outputs
  inherited,            // its inputs differed already
  unknown
};

std::string_view cause_name(Cause cause);

}  // namespace vernier
