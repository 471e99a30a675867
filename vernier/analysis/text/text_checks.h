#pragma once

#include "vernier/analysis/text/text_generation.h"

namespace vernier {

// Tests the caches, which the scores of blocks do not show: blocks are scored without a cache, or
// behind one that both models may have wrong alike. A cache that differs from the reference's
// fails, and so does one behind which the candidate predicts something else than without it.
void judge_caches(TextGenerationResult& result, TextModel& reference, TextModel& candidate,
                  const TokenBlocks& text);

// On up to 256 tokens of the first two blocks. `exact` is the candidate in exact arithmetic.
TextArithmetic compare_arithmetic(TextModel& reference, TextModel& candidate, Runner& exact,
                                  const TokenBlocks& text);

}  // namespace vernier
