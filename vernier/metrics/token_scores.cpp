#include "vernier/metrics/token_scores.h"

#include <algorithm>
#include <cmath>

namespace vernier {
namespace {

constexpr int places = 5;

// The logarithm of the sum of exp(logit): the largest is taken out, so that none overflows.
double log_sum_exp(std::span<const float> logits) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  return most + std::log(sum);
}

// Below infinity, not NaN.
bool is_valid(std::span<const float> logits) {
  return std::ranges::all_of(logits, [](float logit) { return logit < INFINITY; });
}

}  // namespace

double token_nll(std::span<const float> logits, std::int64_t next) {
  if (!is_valid(logits)) return NAN;
  return log_sum_exp(logits) - static_cast<double>(logits[static_cast<std::size_t>(next)]);
}

TokenScore score_token(std::span<const float> reference, std::span<const float> candidate,
                       std::int64_t next) {
  TokenScore score{.reference_best = std::ranges::max_element(reference) - reference.begin(),
                   .candidate_best = std::ranges::max_element(candidate) - candidate.begin()};
  const auto best = static_cast<std::size_t>(score.reference_best);
  float second = -INFINITY;
  std::int64_t ahead = 0;  // of the reference's best, in the candidate
  for (std::size_t i = 0; i < reference.size(); ++i) {
    if (i == best) continue;
    second = std::max(second, reference[i]);
    ahead += candidate[i] > candidate[best] || (candidate[i] == candidate[best] && i < best);
  }
  score.margin = static_cast<double>(reference[best]) - static_cast<double>(second);
  score.in_top5 = ahead < places;
  const bool valid = is_valid(reference), both = valid && is_valid(candidate);
  const double reference_log = valid ? log_sum_exp(reference) : NAN;
  const double candidate_log = is_valid(candidate) ? log_sum_exp(candidate) : NAN;
  score.kl = both ? 0 : NAN;
  for (std::size_t i = 0; i < reference.size() && both; ++i) {
    const double expected = static_cast<double>(reference[i]) - reference_log;
    if (expected == -INFINITY) continue;
    const double found = static_cast<double>(candidate[i]) - candidate_log;
    score.kl += std::exp(expected) * (expected - found);
  }
  if (next < 0) return score;
  const auto token = static_cast<std::size_t>(next);
  score.reference_nll = reference_log - static_cast<double>(reference[token]);
  score.candidate_nll = candidate_log - static_cast<double>(candidate[token]);
  return score;
}

}  // namespace vernier
