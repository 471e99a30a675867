#include "vernier/analysis/check/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/check/checking.h"

namespace vernier {
namespace {

using Sample = std::vector<Tensor>;

TEST(Batches, samples_are_joined_along_their_axis) {
  const std::vector<Sample> samples = {{f32("x", {2, 1}, {1, 2}), f32("s", {1}, {7})},
                                       {f32("x", {2, 1}, {3, 4}), f32("s", {1}, {8})}};
  const DynamicAxis rows{.name = "rows", .places = {{0, 0}}};
  EXPECT_EQ(join_samples(samples, rows),
            (Sample{f32("x", {4, 1}, {1, 2, 3, 4}), f32("s", {1}, {7})}));
  const DynamicAxis columns{.name = "columns", .places = {{0, 1}}};
  EXPECT_EQ(join_samples(samples, columns)[0], f32("x", {2, 2}, {1, 3, 2, 4}));
}

TEST(Batches, single_samples_share_what_is_not_joined) {
  const std::vector<Sample> samples = {{f32("x", {1}, {1}), f32("s", {1}, {7})},
                                       {f32("x", {1}, {2}), f32("s", {1}, {8})}};
  EXPECT_EQ(single_samples(samples, {.name = "n", .places = {{0, 0}}})[1],
            (Sample{f32("x", {1}, {2}), f32("s", {1}, {7})}));
}

TEST(Batches, slices_undo_a_join) {
  const Tensor joined = f32("x", {2, 2}, {1, 3, 2, 4});
  EXPECT_EQ(slice_axis(joined, 1, 0, 2), f32("x", {2, 1}, {1, 2}));
  EXPECT_EQ(slice_axis(joined, 1, 1, 2), f32("x", {2, 1}, {3, 4}));
  EXPECT_EQ(slice_axis(joined, 0, 1, 2), f32("x", {1, 2}, {2, 4}));
}

TEST(Batches, samples_of_another_shape_are_left_out) {
  const std::vector<Sample> samples = {
      {f32("x", {1}, {1})}, {f32("x", {2}, {2, 2})}, {f32("x", {1}, {3})}};
  EXPECT_EQ(like_first(samples, 3), (std::vector<Sample>{samples[0], samples[2], samples[0]}));
}

}  // namespace
}  // namespace vernier
