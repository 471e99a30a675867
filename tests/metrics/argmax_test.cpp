#include "vernier/metrics/argmax.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/metrics/pair.h"

namespace vernier {
namespace {

TEST(ArgmaxAgreement, is_the_share_of_rows_whose_first_maximum_stays) {
  const Tensor reference = f32({1, 5, 5, 9, 0, 0, 1, 2, 3, 4, 4, 4}, {2, 2, 3});
  const Tensor candidate = f32({1, 6, 6, 8, 9, 0, 1, 2, 3, 4, 5, 4}, {2, 2, 3});
  EXPECT_EQ(argmax_agreement(reference, candidate), 0.5);
}

TEST(ArgmaxAgreement, a_row_with_nan_has_changed) {
  const auto nan32 = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(argmax_agreement(f32({1, nan32, 2, 1}, {2, 2}), f32({1, nan32, 2, 1}, {2, 2})), 0.5);
}

TEST(ArgmaxAgreement, has_no_meaning_without_rows_of_one_length) {
  EXPECT_EQ(argmax_agreement(f32({}, {0, 3}), f32({}, {0, 3})), std::nullopt);
  EXPECT_EQ(argmax_agreement(f32({1, 2}, {1, 2}), f32({1, 2}, {2, 1})), std::nullopt);
  const Tensor scalar = make_tensor("x", DType::f32, {});
  EXPECT_EQ(argmax_agreement(scalar, scalar), std::nullopt);
}

// Rows are read in blocks of 4,096 elements: shorter, longer, and not a divisor of it.
TEST(ArgmaxAgreement, rows_of_any_length_are_all_counted) {
  for (const std::int64_t width : {1, 3, 4096, 5000}) {
    const std::int64_t rows = 20000 / width + 1;
    std::vector<float> reference(static_cast<std::size_t>(rows * width)), candidate = reference;
    for (std::int64_t row = 0; row < rows; ++row) {
      reference[row * width + (row % width)] = 1;
      candidate[row * width + (row % 2 == 0 ? row % width : 0)] = 1;
    }
    const std::int64_t changed =
        std::count_if(reference.begin(), reference.end(), [&, i = std::int64_t{0}](float) mutable {
          const std::int64_t row = i / width, at = i++ % width;
          return at == 0 && row % 2 == 1 && row % width != 0;
        });
    EXPECT_EQ(argmax_agreement(f32(reference, {rows, width}), f32(candidate, {rows, width})),
              static_cast<double>(rows - changed) / static_cast<double>(rows));
  }
}

}  // namespace
}  // namespace vernier
