#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/decoding/cache_faults.h"
#include "vernier/analysis/parts/records.h"
#include "vernier/analysis/progress.h"
#include "vernier/analysis/text/text_arithmetic.h"
#include "vernier/analysis/text/text_model.h"
#include "vernier/analysis/text/token_blocks.h"
#include "vernier/analysis/verdict.h"
#include "vernier/metrics/bootstrap.h"

namespace vernier {

struct TextGenerationOptions {
  std::int64_t batch = 1;           // blocks of equal length that are run at once
  std::int64_t prompts = 4;         // beginnings of blocks that both models continue
  std::int64_t prompt_length = 16;  // tokens of each
  std::int64_t steps = 24;          // tokens that they continue it by
  std::int64_t worst = 3;           // tokens that are shown with their context
  int threads = 0;                  // that score; 0: one for each core
  std::vector<Limit> limits;        // empty: default_text_limits()
  BootstrapOptions bootstrap;
  bool recorded = false;     // the reference is a recording, whose samples are the blocks
  Runner* second = nullptr;  // the reference in other arithmetic, to measure its rounding; or null
  Runner* exact =
      nullptr;  // the candidate in exact arithmetic, to see what this CPU loses; or null
  Progress progress;
  SampleRecords* records = nullptr;  // of runs that are measured in parts; or null
};

// What the candidate's distribution of the next token may differ by: KL in nats, the mean over
// tokens.
inline constexpr double most_mean_kl = 0.02;

// What evaluate_text() calls the records of blocks that are run at once, and how many these are.
inline constexpr const char* text_section = "blocks";
std::int64_t text_runs(const TokenBlocks& text, std::int64_t batch);

// A figure, with the interval of its change where there is a reference, else of itself.
struct TextFigure {
  std::string name;
  double candidate = 0;
  std::optional<double> reference;
  std::optional<ConfidenceInterval> interval;
  bool operator==(const TextFigure&) const = default;
};

// A token whose distribution the candidate changes most.
struct WorstToken {
  std::int64_t block = 0, position = 0;
  double kl = 0;
  std::vector<std::int64_t> context;  // tokens up to it
  std::int64_t reference_best = 0, candidate_best = 0;
  bool operator==(const WorstToken&) const = default;
};

// How both models continue a prompt.
struct Divergence {
  std::int64_t block = 0;
  std::vector<std::int64_t> prompt;
  std::optional<std::int64_t> step;  // of the first token that differs
  bool near_tie = false;             // the reference itself was undecided there
  std::vector<std::int64_t> reference, candidate;
  bool operator==(const Divergence&) const = default;
};

struct TextGenerationResult {
  std::int64_t blocks = 0, block_length = 0;
  std::int64_t scored = 0;                // tokens whose likelihood was measured
  std::int64_t compared = 0;              // tokens whose distributions were
  std::vector<TextFigure> figures;        // perplexity, nll, kl_mean...
  std::int64_t disagreements = 0;         // of the best token
  std::optional<std::int64_t> near_ties;  // of these, where the reference is undecided itself
  std::optional<double> rounding;         // of the reference's logits, largest
  std::optional<TextArithmetic> arithmetic;
  std::vector<WorstToken> worst;
  std::vector<Divergence> divergences;
  std::vector<CacheFault> cache_faults;   // blocks are scored without a cache, and do not show them
  std::optional<double> kl_behind_cache;  // of the candidate, beside itself without one
  bool interrupted = false;
  Verdict verdict;
  bool operator==(const TextGenerationResult&) const = default;
};

// perplexity_ratio > 1.01, kl_mean >= 0.02
std::vector<Limit> default_text_limits();
// What limits may name.
std::vector<std::string> text_limit_metrics(bool has_reference);

// Scores every token but each block's first, teacher forced, and compares what both models say of
// every next token: perplexity is exp of the mean negative log-likelihood, KL is of the candidate
// from the reference, all in float64. Logits are kept of one run alone, and of large vocabularies
// the run is cut; memory grows by four bytes a token. Limits that nobody set are judged with their
// intervals: of segments of 64 tokens, resampled. `reference` may be null.
TextGenerationResult evaluate_text(TextModel* reference, TextModel& candidate,
                                   const TokenBlocks& text, const TextGenerationOptions& options);

}  // namespace vernier
