#include "vernier/metrics/token_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace vernier {
namespace {

TEST(TokenScores, are_those_of_softmax_computed_by_hand) {
  // Probabilities 1/2, 1/4, 1/4 and 1/4, 1/2, 1/4.
  const std::vector<float> reference = {std::log(2.0F), 0, 0}, candidate = {0, std::log(2.0F), 0};
  const TokenScore score = score_token(reference, candidate, 2);
  EXPECT_NEAR(score.kl, 0.25 * std::log(2.0), 1e-7);
  EXPECT_NEAR(score.reference_nll, std::log(4.0), 1e-7);
  EXPECT_NEAR(score.candidate_nll, std::log(4.0), 1e-7);
  EXPECT_EQ(score.reference_best, 0);
  EXPECT_EQ(score.candidate_best, 1);
  EXPECT_NEAR(score.margin, std::log(2.0), 1e-7);
  EXPECT_TRUE(score.in_top5);
  EXPECT_NEAR(token_nll(reference, 0), std::log(2.0), 1e-7);
}

TEST(TokenScores, large_logits_do_not_overflow) {
  const std::vector<float> row = {3e38F, 0};
  EXPECT_EQ(score_token(row, row, 0).kl, 0);
  EXPECT_EQ(token_nll(row, 0), 0);
}

TEST(TokenScores, the_sixth_best_is_not_among_five) {
  const std::vector<float> reference = {9, 0, 0, 0, 0, 0, 0};
  EXPECT_TRUE(score_token(reference, std::vector<float>{1, 2, 3, 4, 5, 0, 0}, -1).in_top5);
  EXPECT_FALSE(score_token(reference, std::vector<float>{1, 2, 3, 4, 5, 6, 0}, -1).in_top5);
}

TEST(TokenScores, equal_logits_go_to_the_lowest_id) {
  const std::vector<float> row = {1, 2, 2};
  const TokenScore score = score_token(row, row, -1);
  EXPECT_EQ(score.reference_best, 1);
  EXPECT_EQ(score.margin, 0);
}

TEST(TokenScores, nan_is_seen_and_impossible_tokens_are_not_nan) {
  const std::vector<float> good = {1, 2}, nan = {NAN, 2}, never = {-INFINITY, 2};
  EXPECT_TRUE(std::isnan(score_token(good, nan, 1).kl));
  EXPECT_TRUE(std::isnan(score_token(good, nan, 1).candidate_nll));
  EXPECT_FALSE(std::isnan(score_token(good, nan, 1).reference_nll));
  EXPECT_EQ(score_token(never, never, 1).kl, 0);
  EXPECT_EQ(score_token(good, never, 1).kl, INFINITY);
}

}  // namespace
}  // namespace vernier
