#pragma once

#include "vernier/analysis/text/text_generation.h"

namespace vernier {

// Blocks are scored without a cache, or behind one that both models have wrong alike: a cache that
// is another than the reference's fails, and so does one behind which the candidate says something
// else.
void judge_caches(TextGenerationResult& result, TextModel& reference, TextModel& candidate,
                  const TokenBlocks& text);

}  // namespace vernier
