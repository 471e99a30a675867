#include "vernier/metrics/rank_correlation.h"
#include "tests/metrics/special_values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/metrics/pair.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using Values = std::vector<double>;

Tensor embeddings(std::int64_t rows, std::int64_t dims, unsigned seed) {
  const Pair pair = random_pair(rows * dims, seed);
  return f32({pair.reference.begin(), pair.reference.end()}, {rows, dims});
}

TEST(RankCorrelation, equal_values_share_their_ranks) {
  EXPECT_EQ(average_ranks(Values{3, 1, 3, 2}), (Values{3.5, 1, 3.5, 2}));
  EXPECT_EQ(average_ranks(Values{}), Values{});
}

TEST(RankCorrelation, hand_computed_correlations) {
  EXPECT_DOUBLE_EQ(spearman(Values{1, 2, 3}, Values{10, 20, 1000}), 1);
  EXPECT_DOUBLE_EQ(spearman(Values{1, 2, 3}, Values{3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(spearman(Values{1, 2, 3, 4}, Values{1, 2, 4, 3}), 0.8);
}

TEST(RankCorrelation, it_is_undefined_without_order) {
  EXPECT_TRUE(std::isnan(spearman(Values{1}, Values{1})));
  EXPECT_TRUE(std::isnan(spearman(Values{1, 1}, Values{1, 2})));
  EXPECT_TRUE(std::isnan(spearman(Values{1, nan}, Values{1, 2})));
  EXPECT_THROW(spearman(Values{1, 2}, Values{1}), Error);
}

TEST(RankCorrelation, overlap_is_the_share_of_common_neighbours) {
  Neighbours reference{.queries = 2, .k = 2, .indices = {1, 2, 0, 2}};
  Neighbours candidate{.queries = 2, .k = 2, .indices = {2, 1, 3, 0}};
  EXPECT_EQ(mean_neighbour_overlap(reference, reference), 1);
  EXPECT_EQ(mean_neighbour_overlap(reference, candidate), 0.75);
  candidate.indices = {-1, -1, 3, 0};
  EXPECT_EQ(mean_neighbour_overlap(candidate, candidate), 0.5);
  EXPECT_THROW(mean_neighbour_overlap(reference, Neighbours{.queries = 2, .k = 1}), Error);
  EXPECT_TRUE(std::isnan(mean_neighbour_overlap(Neighbours{}, Neighbours{})));
}

TEST(RankCorrelation, the_same_embeddings_correlate_fully) {
  const Tensor reference = embeddings(40, 8, 1);
  EXPECT_DOUBLE_EQ(similarity_rank_correlation(reference, reference), 1);
}

TEST(RankCorrelation, unrelated_embeddings_hardly_correlate) {
  EXPECT_LT(std::abs(similarity_rank_correlation(embeddings(200, 8, 1), embeddings(200, 16, 2))),
            0.1);
}

TEST(RankCorrelation, a_collapsed_candidate_counts_as_none) {
  EXPECT_EQ(
      similarity_rank_correlation(embeddings(10, 2, 1), f32(std::vector<float>(20, 1.0f), {10, 2})),
      0);
}

TEST(RankCorrelation, samples_that_are_not_finite_on_a_side_are_left_out) {
  Tensor reference = embeddings(40, 8, 1), candidate = reference;
  elements<float>(reference)[5 * 8] = std::nanf("");
  elements<float>(candidate)[9 * 8] = std::nanf("");
  EXPECT_DOUBLE_EQ(similarity_rank_correlation(reference, candidate), 1);
}

TEST(RankCorrelation, a_thousand_queries_stand_for_more) {
  const auto rounded_to_4 = [](std::int64_t samples) {
    const Tensor reference = embeddings(samples, 8, 1);
    Tensor candidate = reference;
    for (float& value : elements<float>(candidate)) value = std::round(value / 4) * 4;
    return similarity_rank_correlation(reference, candidate);
  };
  EXPECT_NEAR(rounded_to_4(1500), rounded_to_4(900), 0.02);
  EXPECT_LT(rounded_to_4(1500), 1);
}

TEST(RankCorrelation, too_few_or_different_samples) {
  EXPECT_TRUE(std::isnan(similarity_rank_correlation(embeddings(2, 3, 1), embeddings(2, 3, 1))));
  EXPECT_THROW(similarity_rank_correlation(embeddings(4, 3, 1), embeddings(5, 3, 1)), Error);
}

}  // namespace
}  // namespace vernier
