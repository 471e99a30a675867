#include "vernier/metrics/pair_chunk.h"

#include <gtest/gtest.h>

#include <vector>

namespace vernier {
namespace {

// The order of addition is tested with measure(), on every SIMD target.

TEST(PairChunk, the_leaf_of_the_first_largest_difference_is_named) {
  const std::vector<float> reference(chunk_size);
  std::vector<float> candidate = reference;
  candidate[700] = 3;
  candidate[4000] = -3;
  const ChunkSums sums = sum_chunk(reference, candidate);
  EXPECT_EQ(sums.max_abs_difference, 3);
  EXPECT_EQ(sums.max_leaf, 5 * leaf_size);
  EXPECT_EQ(sums.max_leaf_size, leaf_size);
}

TEST(PairChunk, a_part_of_a_chunk_has_leaves_of_other_sizes) {
  const std::vector<double> reference(300);
  std::vector<double> candidate = reference;
  candidate[299] = 1;
  const ChunkSums sums = sum_chunk(reference, candidate);
  EXPECT_EQ(sums.max_leaf, 216u);  // 300 = 144 + 156, 144 = 72 + 72, 156 = 72 + 84
  EXPECT_EQ(sums.max_leaf_size, 84u);
}

TEST(PairChunk, an_empty_chunk_has_no_leaf) {
  const ChunkSums sums = sum_chunk(std::span<const float>(), std::span<const float>());
  EXPECT_EQ(sums.reference_squares, 0);
  EXPECT_EQ(sums.max_leaf_size, 0u);
}

}  // namespace
}  // namespace vernier
