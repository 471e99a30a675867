#include "vernier/metrics/token_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr int places = 5;

// log(sum of exp(logit)); the largest logit is factored out to avoid overflow.
double log_sum_exp(std::span<const float> logits) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  return most + std::log(sum);
}

// Whether no logit is +inf or NaN.
bool is_valid(std::span<const float> logits) {
  return std::ranges::all_of(logits, [](float logit) { return logit < INFINITY; });
}

double divergence(std::span<const float> reference, double reference_log,
                  std::span<const float> candidate, double candidate_log) {
  double kl = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double expected = static_cast<double>(reference[i]) - reference_log;
    if (expected == -INFINITY) continue;
    const double found = static_cast<double>(candidate[i]) - candidate_log;
    kl += std::exp(expected) * (expected - found);
  }
  return kl;
}

}  // namespace

std::vector<double> kl_by_row(const TensorView& reference, const TensorView& candidate) {
  const std::int64_t columns = reference.shape.empty() ? 0 : reference.shape.back();
  std::vector<double> kl(static_cast<std::size_t>(columns > 0 ? reference.size() / columns : 0));
  std::vector<float> expected(static_cast<std::size_t>(columns)), found = expected;
  for (std::int64_t row = 0; row < std::ssize(kl); ++row) {
    widen(reference, row * columns, expected);
    widen(candidate, row * columns, found);
    kl[row] = is_valid(expected) && is_valid(found)
                  ? divergence(expected, log_sum_exp(expected), found, log_sum_exp(found))
                  : NAN;
  }
  return kl;
}

KlSum kl_of_rows(const TensorView& reference, const TensorView& candidate) {
  const std::vector<double> kl = kl_by_row(reference, candidate);
  return {std::accumulate(kl.begin(), kl.end(), 0.0), std::ssize(kl)};
}

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
  std::int64_t ahead = 0;  // tokens that the candidate ranks above the reference's best
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
  score.kl = both ? divergence(reference, reference_log, candidate, candidate_log) : NAN;
  if (next < 0) return score;
  const auto token = static_cast<std::size_t>(next);
  score.reference_nll = reference_log - static_cast<double>(reference[token]);
  score.candidate_nll = candidate_log - static_cast<double>(candidate[token]);
  return score;
}

}  // namespace vernier
