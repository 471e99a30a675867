#pragma once

#include <cstdint>

#include "vernier/analysis/text/text_model.h"
#include "vernier/analysis/text/token_blocks.h"

namespace vernier {

// KL of the next token, in nats, at the first tokens of a text: as the candidate is computed here,
// and as its file says.
struct TextArithmetic {
  double kl_mean = 0, exact_kl_mean = 0;
  std::int64_t tokens = 0;
  bool operator==(const TextArithmetic&) const = default;
};

// Of the first tokens of two blocks, some hundred each. `exact` is the candidate in exact
// arithmetic.
TextArithmetic compare_arithmetic(TextModel& reference, TextModel& candidate, Runner& exact,
                                  const TokenBlocks& text);

}  // namespace vernier
