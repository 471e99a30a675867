#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "vernier/tensor/tensor.h"

namespace vernier {

// What two models say of one token, in nats and float64: logarithms of softmax of rows of logits.
struct TokenScore {
  double kl = 0;                                // of the candidate from the reference
  double reference_nll = 0, candidate_nll = 0;  // of the token that follows
  std::int64_t reference_best = 0, candidate_best = 0;
  double margin = 0;     // of the reference's best logit over its second
  bool in_top5 = false;  // the reference's best is among the candidate's five best
};

// Rows of equal length, not empty. A logit of -inf is a token that cannot follow: KL is infinite
// where only the candidate says so. NaN or +inf makes KL and that side's likelihood NaN. `next`
// below 0: no token follows, and likelihoods are 0. Ties go to the lowest id.
TokenScore score_token(std::span<const float> reference, std::span<const float> candidate,
                       std::int64_t next);

// KL of the candidate from the reference summed over the rows of two tensors of logits of equal
// dims, in nats.
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

// The negative log-likelihood of a token under one row.
double token_nll(std::span<const float> logits, std::int64_t next);

}  // namespace vernier
