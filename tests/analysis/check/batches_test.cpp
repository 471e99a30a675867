#include "vernier/analysis/check/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using testing::ElementsAre;

Tensor numbers(DType dtype, Shape shape, const std::vector<std::int8_t>& values) {
  return convert(tensor_of<std::int8_t>("x", DType::i8, std::move(shape), values), dtype);
}

// Rows of three elements of 4 bits begin in the middle of a byte.
TEST(Batches, rows_are_cut_and_joined_whatever_an_element_takes) {
  for (const DType dtype : {DType::i8, DType::i4, DType::f32}) {
    const Tensor both = numbers(dtype, {2, 3}, {1, -2, 3, 4, -5, 6});
    const Tensor second = slice_axis(both, 0, 1, 2);
    EXPECT_EQ(second.dtype, dtype);
    EXPECT_THAT(second.shape, ElementsAre(1, 3));
    EXPECT_THAT(to_f64(second), ElementsAre(4, -5, 6));
    const std::vector<Sample> samples = {{slice_axis(both, 0, 0, 2)}, {second}};
    const DynamicAxis axis{.places = {{.input = 0, .axis = 0}}};
    EXPECT_EQ(join_samples(samples, axis)[0], both);
  }
}

}  // namespace
}  // namespace vernier
