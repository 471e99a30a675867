#include "vernier/metrics/knn.h"

#include <gtest/gtest.h>

#include "tests/metrics/pair.h"
#include "tests/oracle/numpy.h"
#include "vernier/error.h"
#include "vernier/metrics/rank_correlation.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using Labels = std::vector<std::int64_t>;

// One query with the neighbours 0, 1, 2, … of these similarities.
Neighbours one_query(std::vector<double> similarities) {
  Neighbours neighbours{.queries = 1, .k = static_cast<std::int64_t>(similarities.size())};
  for (std::int32_t i = 0; i < neighbours.k; ++i) neighbours.indices.push_back(i);
  neighbours.similarities = std::move(similarities);
  return neighbours;
}

TEST(Knn, votes_are_similarities_added_up) {
  const Rankings ranked = rank_by_vote(one_query({0.9, 0.5, 0.5}), Labels{7, 3, 3});
  EXPECT_EQ(ranked.classes, (Labels{3, 7, -1, -1, -1}));
}

TEST(Knn, equal_votes_go_by_the_first_vote) {
  const Rankings ranked = rank_by_vote(one_query({0.5, 0.25, 0.25}), Labels{7, 3, 3});
  EXPECT_EQ(ranked.of(0)[0], 7);
}

TEST(Knn, a_negative_similarity_is_a_vote_against) {
  const Rankings ranked = rank_by_vote(one_query({0.3, 0.2, -0.2}), Labels{1, 2, 1});
  EXPECT_EQ(ranked.classes, (Labels{2, 1, -1, -1, -1}));
}

TEST(Knn, only_the_best_voted_classes_are_ranked) {
  const Rankings ranked = rank_by_vote(one_query({0.6, 0.5, 0.4}), Labels{4, 5, 6}, {.depth = 2});
  EXPECT_EQ(ranked.classes, (Labels{4, 5}));
}

TEST(Knn, a_low_temperature_lets_the_nearest_decide) {
  const Neighbours neighbours = one_query({0.9, 0.5, 0.5});
  EXPECT_EQ(rank_by_vote(neighbours, Labels{7, 3, 3}, {.temperature = 0.07}).of(0)[0], 7);
  EXPECT_EQ(rank_by_vote(neighbours, Labels{7, 3, 3}, {.temperature = 1}).of(0)[0], 3);
  EXPECT_EQ(rank_by_vote(neighbours, Labels{7, 3, 3}, {.temperature = 1e-300}).of(0)[0], 7);
}

TEST(Knn, a_query_without_neighbours_has_no_class) {
  Neighbours neighbours = one_query({0, 0});
  neighbours.indices = {-1, -1};
  EXPECT_EQ(rank_by_vote(neighbours, Labels{1, 2}).classes, (Labels{-1, -1, -1, -1, -1}));
}

TEST(Knn, unusable_requests_are_errors) {
  EXPECT_THROW(rank_by_vote(one_query({0.5, 0.4}), Labels{1}), Error);
  EXPECT_THROW(rank_by_vote(one_query({0.5}), Labels{1}, {.temperature = -1}), Error);
  EXPECT_THROW(rank_by_vote(one_query({0.5}), Labels{1}, {.depth = 0}), Error);
}

class KnnOfDigits : public testing::Test {
 protected:
  std::vector<double> accuracies(std::int64_t k, double temperature = 0) const {
    const Neighbours neighbours = leave_one_out_neighbours(embedding, {.k = k});
    const Rankings ranked = rank_by_vote(neighbours, labels, {.temperature = temperature});
    return {accuracy(hits(ranked, labels, 1)), accuracy(hits(ranked, labels, 5))};
  }

  const std::string path = VERNIER_FIXTURES "/mnist/mnist_features.npz";
  const Tensor embedding = NpzReader(path).read("embedding");
  const Labels labels = to_integers(NpzReader(path).read("label"));
};

TEST_F(KnnOfDigits, accuracies_are_the_known_ones) {
  EXPECT_EQ(accuracies(10), (std::vector{94.4, 98.4}));
  EXPECT_EQ(accuracies(5), (std::vector{95.1, 97.5}));
}

TEST_F(KnnOfDigits, numpy_agrees) {
  const auto python = oracle::python_with("numpy");
  if (!python) GTEST_SKIP() << "no Python with numpy 2.4";
  const auto blobs =
      oracle::blobs_of(oracle::output_of(*python + " " VERNIER_ORACLES "/knn_cases.py " + path));
  ASSERT_EQ(blobs.size(), 5u);
  const auto numbers = [&](int blob) { return oracle::values_of<double>(blobs[blob]); };

  const Neighbours neighbours = leave_one_out_neighbours(embedding);
  EXPECT_EQ(neighbours.indices, oracle::values_of<std::int32_t>(blobs[0]));
  const std::vector<double> similarities = numbers(1);
  for (std::size_t i = 0; i < similarities.size(); ++i)
    ASSERT_NEAR(neighbours.similarities[i], similarities[i], 1e-14);

  EXPECT_EQ(numbers(2), (std::vector{accuracies(10)[0], accuracies(10)[1], accuracies(5)[0],
                                     accuracies(5)[1]}));
  EXPECT_EQ(numbers(3), accuracies(10, 0.07));

  const Tensor candidate = convert(embedding, DType::f16);
  EXPECT_NEAR(mean_neighbour_overlap(neighbours, leave_one_out_neighbours(candidate)),
              numbers(4)[0], 1e-12);
  EXPECT_NEAR(similarity_rank_correlation(embedding, candidate), numbers(4)[1], 1e-12);
}

}  // namespace
}  // namespace vernier
