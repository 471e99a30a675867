#include "vernier/analysis/task/sequences.h"

#include <gtest/gtest.h>

#include "tests/metrics/pair.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using Lines = std::vector<std::string>;

TEST(Sequences, equal_words_get_equal_numbers_on_both_sides) {
  const auto pairs =
      pair_sentences(Lines{"a b", "b"}, std::vector<Lines>{{"b a", "b c"}, {"a", "c"}});
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].prediction, (Tokens{0, 1}));
  EXPECT_EQ(pairs[0].targets, (std::vector<Tokens>{{1, 0}, {0}}));
  EXPECT_EQ(pairs[1].targets, (std::vector<Tokens>{{1, 2}, {2}}));
}

TEST(Sequences, token_ids_lose_their_padding) {
  std::vector<Tensor> targets{tensor_as(DType::i64, {5, 6, 0, 5, 0, 0})};
  targets[0].shape = {2, 3};
  Tensor predictions = tensor_as(DType::i32, {5, 7, 8, 0, 5, 5});
  predictions.shape = {2, 3};
  const auto pairs = pair_token_ids(predictions, targets, 0);
  EXPECT_EQ(pairs[0].prediction, (Tokens{5, 7}));  // the third place is padding in the target
  EXPECT_EQ(pairs[0].targets[0], (Tokens{5, 6}));
  EXPECT_EQ(pairs[1].prediction, Tokens{});
  EXPECT_EQ(pair_token_ids(predictions, targets)[0].prediction, (Tokens{5, 7, 8}));
}

TEST(Sequences, sets_of_another_length_or_shape_are_errors) {
  EXPECT_THROW(pair_sentences(Lines{"a"}, std::vector<Lines>{{"a", "b"}}), Error);
  Tensor ids = tensor_as(DType::i64, {1, 2});
  const std::vector<Tensor> flat{ids};
  EXPECT_THROW(pair_token_ids(ids, flat), Error);
  ids.shape = {1, 2};
  const std::vector<Tensor> floats{f32({1, 2}, {1, 2})};
  EXPECT_THROW(pair_token_ids(ids, floats), Error);
}

}  // namespace
}  // namespace vernier
