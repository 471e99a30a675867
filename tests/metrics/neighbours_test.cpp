#include "vernier/metrics/neighbours.h"
#include "tests/metrics/special_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tests/metrics/pair.h"
#include "vernier/error.h"

namespace vernier {
namespace {

Tensor random_embeddings(std::int64_t rows, std::int64_t dims, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> values;
  std::vector<float> result(rows * dims);
  for (float& value : result) value = values(engine);
  return f32(result, {rows, dims});
}

double naive_similarity(std::span<const float> x, std::span<const float> y) {
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    xx += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    yy += static_cast<double>(y[i]) * static_cast<double>(y[i]);
  }
  return xy / (std::max(std::sqrt(xx), 1e-9) * std::max(std::sqrt(yy), 1e-9));
}

// Sorts everything; `self` excludes each query's own index.
std::vector<std::int32_t> naive_neighbours(const Tensor& queries, const Tensor& bank,
                                           std::int64_t k, bool self) {
  const std::int64_t dims = queries.shape[1];
  const auto query_values = elements<float>(queries), bank_values = elements<float>(bank);
  std::vector<std::int32_t> result;
  for (std::int64_t q = 0; q < queries.shape[0]; ++q) {
    std::vector<double> similarities;
    std::vector<std::int32_t> order;
    for (std::int32_t b = 0; b < bank.shape[0]; ++b) {
      similarities.push_back(naive_similarity(query_values.subspan(q * dims, dims),
                                              bank_values.subspan(b * dims, dims)));
      if (!self || b != q) order.push_back(b);
    }
    std::ranges::stable_sort(order, std::greater{}, [&](int i) { return similarities[i]; });
    result.insert(result.end(), order.begin(), order.begin() + k);
  }
  return result;
}

// Every test here runs on every SIMD target this CPU has.
class NeighboursOnTarget : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

INSTANTIATE_TEST_SUITE_P(Targets, NeighboursOnTarget,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) { return hwy::TargetName(target.param); });

TEST_P(NeighboursOnTarget, leave_one_out_equals_sorting_everything) {
  for (const std::int64_t rows : {2, 3, 31, 32, 33, 64, 130, 300})
    for (const std::int64_t dims : {2, 5, 48, 130}) {
      const Tensor embeddings = random_embeddings(rows, dims);
      const std::int64_t k = std::min<std::int64_t>(10, rows - 1);
      const Neighbours found = leave_one_out_neighbours(embeddings, {.k = 10, .threads = 2});
      EXPECT_EQ(found.k, k);
      EXPECT_EQ(found.indices, naive_neighbours(embeddings, embeddings, k, true))
          << rows << " x " << dims;
    }
}

TEST_P(NeighboursOnTarget, a_bank_equals_sorting_everything) {
  const Tensor queries = random_embeddings(70, 48, 1), bank = random_embeddings(133, 48, 2);
  for (const std::int64_t k : {1, 10, 100, 133})
    EXPECT_EQ(bank_neighbours(queries, bank, {.k = k, .threads = 2}).indices,
              naive_neighbours(queries, bank, k, false))
        << k;
}

TEST(Neighbours, a_large_k_equals_sorting_everything) {
  const Tensor embeddings = random_embeddings(1200, 3);
  EXPECT_EQ(leave_one_out_neighbours(embeddings, {.k = 1100}).indices,
            naive_neighbours(embeddings, embeddings, 1100, true));
}

TEST(Neighbours, similarities_are_hand_computed) {
  const Neighbours found = leave_one_out_neighbours(f32({1, 0, 3, 4, 0, 2}, {3, 2}), {.k = 2});
  EXPECT_EQ(found.indices, (std::vector<std::int32_t>{1, 2, 2, 0, 1, 0}));
  EXPECT_NEAR(found.similarities_of(1)[0], 0.8, 1e-15);
  EXPECT_NEAR(found.similarities_of(1)[1], 0.6, 1e-15);
  EXPECT_EQ(found.similarities_of(2)[1], 0);
}

TEST(Neighbours, the_thread_count_changes_nothing) {
  const Tensor embeddings = random_embeddings(500, 100);
  const Neighbours one = leave_one_out_neighbours(embeddings, {.threads = 1});
  EXPECT_EQ(one, leave_one_out_neighbours(embeddings, {.threads = 2}));
  EXPECT_EQ(one, leave_one_out_neighbours(embeddings, {.threads = 5}));
}

TEST(Neighbours, a_bank_of_the_queries_finds_each_itself) {
  const Tensor embeddings = random_embeddings(50, 20);
  const Neighbours found = bank_neighbours(embeddings, embeddings, {.k = 1});
  for (std::int32_t i = 0; i < 50; ++i) EXPECT_EQ(found.indices[i], i);
}

TEST(Neighbours, equal_similarities_come_in_order_of_index) {
  std::vector<float> same(200 * 3, 0.5f);
  const Neighbours found = leave_one_out_neighbours(f32(same, {200, 3}), {.k = 4});
  EXPECT_THAT(std::vector(found.indices.begin(), found.indices.begin() + 8),
              testing::ElementsAre(1, 2, 3, 4, 0, 2, 3, 4));
}

// 300 rows that differ in the last bits only: float32 cannot order them, float64 can.
TEST(Neighbours, near_ties_beyond_float32_are_ordered_as_in_float64) {
  std::mt19937 engine(3);
  std::uniform_int_distribution<int> steps(0, 3);
  std::vector<float> values;
  for (int row = 0; row < 300; ++row)
    for (int d = 0; d < 16; ++d) {
      float value = 1;
      for (int step = steps(engine); step > 0; --step) value = std::nextafter(value, 2.0f);
      values.push_back(value);
    }
  const Tensor embeddings = f32(values, {300, 16});
  const Neighbours found = leave_one_out_neighbours(embeddings, {.k = 10});
  for (std::int64_t q = 0; q < 300; ++q) {
    const auto similarities = found.similarities_of(q);
    EXPECT_TRUE(std::ranges::is_sorted(similarities, std::greater{}));
    std::vector<double> all;
    for (std::int64_t i = 0; i < 300; ++i)
      if (i != q)
        all.push_back(naive_similarity(elements<float>(embeddings).subspan(q * 16, 16),
                                       elements<float>(embeddings).subspan(i * 16, 16)));
    std::ranges::sort(all, std::greater{});
    EXPECT_NEAR(similarities[9], all[9], 4e-16);
  }
}

TEST(Neighbours, a_row_with_nan_or_infinity_has_no_neighbours_and_is_none) {
  Tensor embeddings = random_embeddings(40, 8);
  elements<float>(embeddings)[3 * 8 + 1] = nan_f;
  elements<float>(embeddings)[20 * 8] = std::numeric_limits<float>::infinity();
  const Neighbours found = leave_one_out_neighbours(embeddings, {.k = 39});
  EXPECT_EQ(found.non_finite, 2);
  for (const std::int32_t index : found.indices_of(3)) EXPECT_EQ(index, -1);
  const auto indices = found.indices_of(0);
  EXPECT_EQ(std::ranges::count(indices, -1), 2);
  EXPECT_EQ(indices[38], -1);
  EXPECT_EQ(std::ranges::count(indices, 3) + std::ranges::count(indices, 20), 0);
}

TEST(Neighbours, rows_of_nan_alone_are_still_a_result) {
  const Neighbours found = leave_one_out_neighbours(f32({nan_f, nan_f}, {2, 1}));
  EXPECT_EQ(found.non_finite, 2);
  EXPECT_EQ(found.indices, (std::vector<std::int32_t>{-1, -1}));
}

TEST(Neighbours, a_zero_row_is_equally_far_from_all) {
  Tensor embeddings = random_embeddings(20, 4);
  std::ranges::fill(elements<float>(embeddings).first(4), 0.0f);
  const Neighbours found = leave_one_out_neighbours(embeddings, {.k = 3});
  EXPECT_THAT(found.indices_of(0), testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(found.similarities_of(0), testing::Each(0.0));
}

TEST(Neighbours, other_dtypes_are_taken_as_float32) {
  const std::vector<double> values{1, 0, 3, 4, 0, 2, -1, 5};
  for (const DType dtype : {DType::f64, DType::f16, DType::i8}) {
    Tensor embeddings = tensor_as(dtype, values);
    embeddings.shape = {4, 2};
    EXPECT_EQ(leave_one_out_neighbours(embeddings),
              leave_one_out_neighbours(f32({values.begin(), values.end()}, {4, 2})));
  }
}

TEST(Neighbours, unusable_requests_are_errors) {
  EXPECT_THROW(leave_one_out_neighbours(f32({1, 2}, {1, 2})), Error);
  EXPECT_THROW(leave_one_out_neighbours(f32({}, {0, 2})), Error);
  EXPECT_THROW(leave_one_out_neighbours(f32({1, 2, 3, 4}, {2, 2}), {.k = 0}), Error);
  EXPECT_THROW(leave_one_out_neighbours(f32({1, 2, 3, 4}, {2, 2, 1})), Error);
  EXPECT_THROW(leave_one_out_neighbours(f32({}, {2, 0})), Error);
  EXPECT_THROW(bank_neighbours(f32({1, 2}, {1, 2}), f32({1}, {1, 1})), Error);
  EXPECT_THROW(bank_neighbours(f32({1, 2}, {1, 2}), f32({}, {0, 2})), Error);
}

TEST(Neighbours, no_queries_have_no_neighbours) {
  EXPECT_EQ(bank_neighbours(f32({}, {0, 2}), f32({1, 2}, {1, 2})).indices.size(), 0u);
}

}  // namespace
}  // namespace vernier
