#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/decoding/cache_faults.h"
#include "vernier/analysis/parts/records.h"
#include "vernier/analysis/progress.h"
#include "vernier/analysis/text/text_model.h"
#include "vernier/analysis/text/token_blocks.h"
#include "vernier/analysis/verdict.h"
#include "vernier/metrics/bootstrap.h"

namespace vernier {

struct TextGenerationOptions {
  std::int64_t batch = 1;  // blocks of equal length in one run
  // Number of prompts, the beginnings of blocks, that both models continue.
  std::int64_t prompts = 4;
  std::int64_t prompt_length = 16;  // tokens of each
  std::int64_t steps = 24;          // tokens that each prompt is continued by
  std::int64_t worst = 3;           // number of worst tokens to show with their context
  int threads = 0;                  // for scoring; 0: one for each core
  std::vector<Limit> limits;        // if empty: default_text_limits()
  BootstrapOptions bootstrap;
  bool recorded = false;     // the reference is a recording, whose samples are the blocks
  Runner* second = nullptr;  // the reference in other arithmetic, to measure rounding; or null
  Runner* exact = nullptr;   // the candidate in exact arithmetic, for this CPU's loss; or null
  Progress progress;
  SampleRecords* records = nullptr;  // for a run in parts; or null
};

// The limit of the mean KL per token, in nats, of the candidate's next-token distribution from the
// reference's: it fails at this value.
inline constexpr double most_mean_kl = 0.02;

// The section of the records of evaluate_text(), one record for each group of blocks that share a
// run, and the number of groups.
inline constexpr const char* text_section = "blocks";
std::int64_t text_runs(const TokenBlocks& text, std::int64_t batch);

// The mean KL of the next token from the reference's, in nats: of the candidate as it is run here,
// and in exact arithmetic.
struct TextArithmetic {
  double kl_mean = 0, exact_kl_mean = 0;
  std::int64_t tokens = 0;
  // Whether this CPU's kernels lose accuracy: more than a tenth of the KL is not the file's.
  bool is_lossy() const { return exact_kl_mean < 0.9 * kl_mean; }
  bool operator==(const TextArithmetic&) const = default;
};

// A figure. If `reference` is set, the interval is of the change from it, else of `candidate`.
struct TextFigure {
  std::string name;
  double candidate = 0;
  std::optional<double> reference;
  std::optional<ConfidenceInterval> interval;
  bool operator==(const TextFigure&) const = default;
};

// A token after which the candidate's distribution differs most from the reference's.
struct WorstToken {
  std::int64_t block = 0, position = 0;
  double kl = 0;
  std::vector<std::int64_t> context;  // tokens up to and including it
  std::int64_t reference_best = 0, candidate_best = 0;
  bool operator==(const WorstToken&) const = default;
};

// How both models continue a prompt.
struct Divergence {
  std::int64_t block = 0;
  std::vector<std::int64_t> prompt;
  std::optional<std::int64_t> step;  // the first step where they differ; nullopt if they do not
  // The reference's two best tokens are within its rounding there.
  bool near_tie = false;
  std::vector<std::int64_t> reference, candidate;
  bool operator==(const Divergence&) const = default;
};

struct TextGenerationResult {
  std::int64_t blocks = 0, block_length = 0;
  std::int64_t scored = 0;                // tokens whose likelihood was measured
  std::int64_t compared = 0;              // tokens whose distributions were compared
  std::vector<TextFigure> figures;        // perplexity, nll, kl_mean...
  std::int64_t disagreements = 0;         // tokens with another best next token
  std::optional<std::int64_t> near_ties;  // disagreements within the reference's rounding
  std::optional<double> rounding;         // largest difference of the reference's logits
  std::optional<TextArithmetic> arithmetic;
  std::vector<WorstToken> worst;
  std::vector<Divergence> divergences;
  std::vector<CacheFault> cache_faults;   // blocks are scored without a cache and do not show them
  std::optional<double> kl_behind_cache;  // of the candidate with a cache, from itself without one
  bool interrupted = false;
  Verdict verdict;
  bool operator==(const TextGenerationResult&) const = default;
};

// perplexity_ratio > 1.01, kl_mean >= 0.02
std::vector<Limit> default_text_limits();
// The metrics that limits may name.
std::vector<std::string> text_limit_metrics(bool has_reference);

// Scores every token except the first of each block, teacher forced, and compares both models'
// distributions of every next token. Perplexity is exp of the mean negative log-likelihood, KL is
// of the candidate from the reference; both in float64. Only the logits of one run are kept, and
// with a large vocabulary a block is run in chunks; memory grows by four bytes a token. Default
// limits are judged with intervals, by resampling segments of 64 tokens. `reference` may be null.
TextGenerationResult evaluate_text(TextModel* reference, TextModel& candidate,
                                   const TokenBlocks& text, const TextGenerationOptions& options);

}  // namespace vernier
