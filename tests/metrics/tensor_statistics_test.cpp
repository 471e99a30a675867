#include "vernier/metrics/tensor_statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/arrays.h"

namespace vernier {
namespace {

Tensor of(std::vector<float> values) {
  Tensor tensor = make_tensor("x", DType::f32, {static_cast<std::int64_t>(values.size())});
  std::ranges::copy(values, elements<float>(tensor).begin());
  return tensor;
}

TEST(TensorStatistics, extremes_and_mean_are_of_the_finite_elements) {
  const TensorStatistics statistics =
      tensor_statistics(of({1, -2, NAN, 4, INFINITY, -INFINITY, -INFINITY}));
  EXPECT_EQ(statistics.count, 7);
  EXPECT_EQ(statistics.nan, 1);
  EXPECT_EQ(statistics.positive_inf, 1);
  EXPECT_EQ(statistics.negative_inf, 2);
  EXPECT_EQ(statistics.finite(), 3);
  EXPECT_EQ(statistics.min, -2);
  EXPECT_EQ(statistics.max, 4);
  EXPECT_EQ(statistics.mean, 1);
}

TEST(TensorStatistics, without_a_finite_element_they_are_nan) {
  for (const Tensor& tensor : {of({}), of({NAN}), of({INFINITY})}) {
    EXPECT_TRUE(std::isnan(tensor_statistics(tensor).min));
    EXPECT_TRUE(std::isnan(tensor_statistics(tensor).max));
    EXPECT_TRUE(std::isnan(tensor_statistics(tensor).mean));
  }
}

TEST(TensorStatistics, long_tensors_and_other_dtypes_are_covered) {
  EXPECT_EQ(tensor_statistics(ramp("x", {3, 10001})).mean, 15001);
  Tensor bytes = make_tensor("x", DType::u8, {4});
  elements<std::uint8_t>(bytes)[2] = 200;
  EXPECT_EQ(tensor_statistics(bytes).max, 200);
  EXPECT_EQ(tensor_statistics(bytes).mean, 50);
}

}  // namespace
}  // namespace vernier
