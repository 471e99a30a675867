#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/text/text_generation.h"
#include "vernier/report/document.h"
#include "vernier/report/envelope.h"

namespace vernier {

// Returns the text of each list of token ids.
using DecodeTokens =
    std::function<std::vector<std::string>(std::span<const std::vector<std::int64_t>>)>;

// Token lists without a tokenizer: "[12 7 9]".
std::vector<std::string> token_lists(std::span<const std::vector<std::int64_t>> lists);

// A passage that a result shows as text: for a worst token, its context and the best token of each
// model; for a divergence, the prompt and both continuations.
struct TextPassage {
  std::string before, reference, candidate;
  bool operator==(const TextPassage&) const = default;
};
struct TextPassages {
  std::vector<TextPassage> worst, divergences;
};
TextPassages text_passages(const TextGenerationResult& result, const DecodeTokens& decode);

Document describe_text(const RunDescription& run, const TextGenerationResult& result,
                       const TextPassages& passages);
std::string text_json(const RunDescription& run, const TextGenerationResult& result,
                      const TextPassages& passages);

}  // namespace vernier
