#include "vernier/metrics/ulp.h"
#include "tests/metrics/special_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/metrics/pair.h"

namespace vernier {
namespace {

constexpr float max = std::numeric_limits<float>::max();

double max_ulp(float reference, float candidate) {
  return ulp_distance(f32({reference}), f32({candidate}))->max;
}

TEST(UlpDistance, counts_the_steps_between_values) {
  EXPECT_EQ(max_ulp(1, 1), 0);
  EXPECT_EQ(max_ulp(1, std::nextafter(1.0f, 2.0f)), 1);
  EXPECT_EQ(max_ulp(1, 2), 1 << 23);
  EXPECT_EQ(max_ulp(max, inf_f), 1);
}

TEST(UlpDistance, zeros_are_one_value_and_signs_are_crossed_through_them) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(max_ulp(0.0f, -0.0f), 0);
  EXPECT_EQ(max_ulp(-tiny, tiny), 2);
  EXPECT_EQ(max_ulp(-inf_f, inf_f), 2.0 * 0x7f800000);
}

TEST(UlpDistance, sixteen_bit_floats_have_their_own_steps) {
  EXPECT_EQ(ulp_distance(tensor_as(DType::f16, {1}), tensor_as(DType::f16, {2}))->max, 1 << 10);
  EXPECT_EQ(ulp_distance(tensor_as(DType::bf16, {1}), tensor_as(DType::bf16, {2}))->max, 1 << 7);
  EXPECT_EQ(ulp_distance(tensor_as(DType::f16, {-65504}), tensor_as(DType::f16, {65504}))->max,
            2.0 * 0x7bff);
}

TEST(UlpDistance, nan_on_either_side_makes_both_nan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& distance :
       {ulp_distance(f32({1, nan}), f32({1, 1})), ulp_distance(f32({1, 1}), f32({-nan, 1})),
        ulp_distance(f32({nan}), f32({nan}))}) {
    EXPECT_TRUE(std::isnan(distance->max));
    EXPECT_TRUE(std::isnan(distance->p999));
  }
}

TEST(UlpDistance, is_for_float_pairs_of_one_dtype_and_length) {
  EXPECT_EQ(ulp_distance(f32({1}), f64({1})), std::nullopt);
  EXPECT_EQ(ulp_distance(f64({1}), f64({1})), std::nullopt);
  EXPECT_EQ(ulp_distance(f32({1}), f32({1, 2})), std::nullopt);
  EXPECT_EQ(ulp_distance(tensor_as(DType::i32, {1}), tensor_as(DType::i32, {1})), std::nullopt);
  EXPECT_EQ(ulp_distance(f32({}), f32({})), UlpDistance{});
}

TEST(UlpDistance, one_element_in_a_thousand_may_exceed_the_percentile) {
  std::vector<float> reference(1000, 1.0f), candidate = reference;
  candidate[77] = 2;
  EXPECT_EQ(ulp_distance(f32(reference), f32(candidate)), (UlpDistance{1 << 23, 0}));
  candidate[78] = std::nextafter(1.0f, 2.0f);
  EXPECT_EQ(ulp_distance(f32(reference), f32(candidate)), (UlpDistance{1 << 23, 1}));
}

// Sorting all distances is the naive way to the same percentile.
TEST(UlpDistance, the_percentile_is_exact_at_every_scale) {
  for (const double scale : {1e-7, 1e-4, 1e-1, 10.0})
    for (const std::size_t count : {1u, 2u, 999u, 1001u, 5000u}) {
      Pair pair = random_pair(count, static_cast<unsigned>(count));
      for (std::size_t i = 0; i < count; ++i)
        pair.candidate[i] = pair.reference[i] + (pair.candidate[i] - pair.reference[i]) * scale;
      const Tensor reference = tensor_as(DType::f32, pair.reference);
      const Tensor candidate = tensor_as(DType::f32, pair.candidate);
      std::vector<double> sorted;
      for (std::size_t i = 0; i < count; ++i)
        sorted.push_back(
            max_ulp(elements<float>(reference.view())[i], elements<float>(candidate.view())[i]));
      std::sort(sorted.begin(), sorted.end());
      const auto rank = (count * 999 + 999) / 1000 - 1;
      EXPECT_EQ(ulp_distance(reference, candidate), (UlpDistance{sorted.back(), sorted[rank]}));
    }
}

}  // namespace
}  // namespace vernier
