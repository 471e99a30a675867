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

// The text of each list of tokens.
using DecodeTokens =
    std::function<std::vector<std::string>(std::span<const std::vector<std::int64_t>>)>;

// "[12 7 9]": what is shown of tokens without a tokenizer.
std::vector<std::string> token_lists(std::span<const std::vector<std::int64_t>> lists);

// What a result shows as text: of each worst token its context and both models' best tokens; of
// each divergence the prompt and both continuations.
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
