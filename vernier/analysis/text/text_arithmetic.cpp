#include "vernier/analysis/text/text_arithmetic.h"

#include <algorithm>

#include "vernier/metrics/token_scores.h"

namespace vernier {
namespace {

constexpr std::size_t most_blocks = 2, most_tokens = 256;

}  // namespace

TextArithmetic compare_arithmetic(TextModel& reference, TextModel& candidate, Runner& exact,
                                  const TokenBlocks& text) {
  TextModel exact_model(exact, candidate.decoder());
  KlSum here, as_file;
  for (std::size_t i = 0; i < std::min(most_blocks, text.blocks.size()); ++i) {
    const std::span<const std::int64_t> block(text.blocks[i]);
    const DecoderRun run{.tokens = block.first(std::min(most_tokens, block.size()))};
    const Tensor expected = reference.logits(run);
    here += kl_of_rows(expected, candidate.logits(run));
    as_file += kl_of_rows(expected, exact_model.logits(run));
  }
  return {here.mean().value_or(0), as_file.mean().value_or(0), here.rows};
}

}  // namespace vernier
