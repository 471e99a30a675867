#include "vernier/metrics/pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/metrics/pair.h"
#include "vernier/error.h"

namespace vernier {
namespace {

const Tensor tokens = f32({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 3, 2});

TEST(Pooling, cls_takes_the_first_token) {
  EXPECT_EQ(pool(tokens, Pooling::cls), f32({1, 2, 7, 8}, {2, 2}));
}

TEST(Pooling, mean_is_over_tokens) {
  EXPECT_EQ(pool(tokens, Pooling::mean), f32({3, 4, 9, 10}, {2, 2}));
}

TEST(Pooling, gap_is_over_height_and_width) {
  const Tensor maps = f32({1, 2, 3, 6, 10, 20, 30, 40}, {1, 2, 2, 2});
  EXPECT_EQ(pool(maps, Pooling::gap), f32({3, 25}, {1, 2}));
}

TEST(Pooling, none_leaves_embeddings_as_they_are) {
  const Tensor embeddings = f32({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(pool(embeddings, Pooling::none), embeddings);
}

TEST(Pooling, other_dtypes_become_float32) {
  Tensor half = tensor_as(DType::f16, {1, 2, 3, 4});
  half.shape = {1, 2, 2};
  EXPECT_EQ(pool(half, Pooling::mean), f32({2, 3}, {1, 2}));
}

TEST(Pooling, only_two_shapes_need_no_choice) {
  EXPECT_EQ(default_pooling(f32({1}, {1, 1})), Pooling::none);
  EXPECT_EQ(default_pooling(tokens), Pooling::cls);
  EXPECT_THROW(default_pooling(f32({1}, {1, 1, 1, 1})), Error);
  EXPECT_THROW(default_pooling(f32({1})), Error);
}

TEST(Pooling, a_shape_it_is_not_for_is_an_error) {
  EXPECT_THROW(pool(tokens, Pooling::gap), Error);
  EXPECT_THROW(pool(tokens, Pooling::none), Error);
  EXPECT_THROW(pool(f32({}, {2, 0, 4}), Pooling::cls), Error);
}

TEST(Pooling, names_are_read_as_they_are_written) {
  for (std::size_t i = 0; i < pooling_names().size(); ++i)
    EXPECT_EQ(parse_pooling(pooling_names()[i]), static_cast<Pooling>(i));
  EXPECT_FALSE(parse_pooling("max"));
}

}  // namespace
}  // namespace vernier
