#include "vernier/analysis/text/text_checks.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "vernier/error.h"
#include "vernier/metrics/token_scores.h"
#include "vernier/model/precision.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

constexpr std::size_t tokens_run = 24;
constexpr std::size_t most_blocks = 2, most_tokens = 256;  // for compare_arithmetic()

// The mean KL per token between the model's predictions with and without a cache: over the second
// half of the tokens, behind a cache of the first half. Rounding causes hardly any KL, and dynamic
// quantization, whose ranges depend on what is fed in one run, not much.
double kl_behind_cache(TextModel& model, std::span<const std::int64_t> tokens) {
  const std::int64_t half = std::ssize(tokens) / 2;
  const Tensor whole = model.logits({.tokens = tokens});
  model.logits({.tokens = tokens.first(half)});
  const Tensor behind = model.logits({.tokens = tokens.subspan(half), .past = half});
  TensorView second_half = whole;
  second_half.shape = behind.shape;
  second_half.bytes = second_half.bytes.last(behind.bytes.size());
  return kl_of_rows(second_half, behind).mean().value_or(std::nan(""));
}

const Limit cache_limit{
    .metric = "kl_behind_cache", .fails = Limit::Fails::at_or_above, .value = most_mean_kl};

}  // namespace

void judge_caches(TextGenerationResult& result, TextModel& reference, TextModel& candidate,
                  const TokenBlocks& text) {
  const auto tokens = std::span<const std::int64_t>(text.blocks.front())
                          .first(std::min<std::size_t>(text.blocks.front().size(), tokens_run));
  if (!candidate.keeps_cache() || tokens.size() < 2) return;
  std::vector<Failure> failures;
  try {
    if (reference.keeps_cache())
      result.cache_faults = find_cache_faults({reference.runner(), reference.decoder()},
                                              {candidate.runner(), candidate.decoder()}, tokens);
    result.kl_behind_cache = kl_behind_cache(candidate, tokens);
    const bool reference_differs =
        reference.keeps_cache() && !within(cache_limit, 2 * kl_behind_cache(reference, tokens));
    if (!within(cache_limit, *result.kl_behind_cache) && !reference_differs)
      failures.push_back({.group = "cache",
                          .metric = cache_limit.metric,
                          .value = *result.kl_behind_cache,
                          .limit = cache_limit});
  } catch (const Stopped&) {
    throw;
  } catch (const Error& error) {
    result.verdict =
        with_doubt(std::move(result.verdict), {DoubtKind::caches_not_run, error.what()});
  }
  for (const CacheFault& fault : result.cache_faults)
    failures.push_back({.subject = fault.output,
                        .group = "cache",
                        .metric = "sqnr_db",
                        .value = fault.sqnr_db,
                        .limit = default_limits(Precision::int8).front()});
  result.verdict = with_failures(std::move(result.verdict), std::move(failures));
}

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
