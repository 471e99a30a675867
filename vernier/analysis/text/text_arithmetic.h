#pragma once

#include <cstdint>

#include "vernier/analysis/text/text_model.h"
#include "vernier/analysis/text/token_blocks.h"

namespace vernier {

// The mean KL of the next token from the reference's, in nats: of the candidate as it is run here,
// and in exact arithmetic.
struct TextArithmetic {
  double kl_mean = 0, exact_kl_mean = 0;
  std::int64_t tokens = 0;
  // Whether this CPU's kernels lose accuracy: more than a tenth of the KL is not the file's.
  bool is_lossy() const { return exact_kl_mean < 0.9 * kl_mean; }
  bool operator==(const TextArithmetic&) const = default;
};

// On up to 256 tokens of the first two blocks. `exact` is the candidate in exact arithmetic.
TextArithmetic compare_arithmetic(TextModel& reference, TextModel& candidate, Runner& exact,
                                  const TokenBlocks& text);

}  // namespace vernier
