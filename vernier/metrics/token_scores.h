#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Two models' predictions of one token, from the log-softmax of their logits in float64, in nats.
struct TokenScore {
  double kl = 0;                                // KL(reference || candidate)
  double reference_nll = 0, candidate_nll = 0;  // negative log-likelihood of the next token
  std::int64_t reference_best = 0, candidate_best = 0;
  double margin = 0;     // the reference's best logit minus its second best
  bool in_top5 = false;  // the reference's best token is among the candidate's five best
};

// Scores rows of logits, not empty and of equal length. A logit of -inf excludes a token: KL is
// infinite if only the candidate excludes it. NaN or +inf makes KL and that side's likelihood NaN.
// If `next` is below 0, there is no next token and likelihoods are 0. Ties go to the lowest id.
TokenScore score_token(std::span<const float> reference, std::span<const float> candidate,
                       std::int64_t next);

// KL(reference || candidate) in nats, summed over the rows of two logits tensors of equal dims.
struct KlSum {
  double sum = 0;
  std::int64_t rows = 0;
  KlSum& operator+=(const KlSum& more) {
    sum += more.sum;
    rows += more.rows;
    return *this;
  }
  std::optional<double> mean() const {
    return rows > 0 ? std::optional(sum / static_cast<double>(rows)) : std::nullopt;
  }
  bool operator==(const KlSum&) const = default;
};
KlSum kl_of_rows(const TensorView& reference, const TensorView& candidate);
std::vector<double> kl_by_row(const TensorView& reference, const TensorView& candidate);

// Negative log-likelihood of a token under one row of logits, in nats; NaN for a NaN or +inf logit.
double token_nll(std::span<const float> logits, std::int64_t next);

}  // namespace vernier
