#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/decoding/small_decoder.h"
#include "vernier/error.h"
#include "vernier/model/decoder.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using enum DecoderRole;

const std::vector<Dim> ids = {{-1, "n"}, {-1, "s"}};

TEST(DecoderRoles, are_told_from_the_graph_and_not_from_names) {
  const auto decoder = find_decoder(small_decoder());
  ASSERT_TRUE(decoder);
  EXPECT_THAT(decoder->roles, ElementsAre(tokens, mask, positions, cache, cache, cache, cache));
  EXPECT_EQ(decoder->tokens, "x0");
  EXPECT_EQ(decoder->logits, "y");
  EXPECT_EQ(decoder->vocabulary, 32);
  EXPECT_THAT(decoder->caches, ElementsAre(CacheSpec{"c0", "d0", 1}, CacheSpec{"c1", "d1", 1},
                                           CacheSpec{"c2", "d2", 1}, CacheSpec{"c3", "d3", 1}));
}

TEST(DecoderRoles, a_cache_belongs_to_the_output_that_holds_it_whatever_the_order) {
  const auto decoder = find_decoder(small_decoder({.swapped = true}));
  ASSERT_TRUE(decoder);
  EXPECT_THAT(decoder->caches, ElementsAre(CacheSpec{"c0", "d2", 1}, CacheSpec{"c1", "d1", 1},
                                           CacheSpec{"c2", "d0", 1}, CacheSpec{"c3", "d3", 1}));
}

TEST(DecoderRoles, of_a_merged_decoder_are_found_in_its_branches) {
  const auto decoder = find_decoder(merged_decoder({}, true));
  ASSERT_TRUE(decoder);
  EXPECT_THAT(decoder->roles, ElementsAre(tokens, mask, positions, cache, cache, cache, cache,
                                          cache, values, use_cache));
  // What the encoder found does not grow.
  EXPECT_EQ(decoder->caches.front().length_axis, 1);
  EXPECT_EQ(decoder->caches.back(), (CacheSpec{"c4", "d4", -1}));
}

TEST(DecoderRoles, fused_attention_says_its_lengths_and_caches) {
  GraphBuilder builder;
  const std::vector<Dim> past = {{-1, "n"}, {2, ""}, {-1, "p"}, {16, ""}};
  const std::vector<Dim> present = {{-1, "n"}, {2, ""}, {-1, "t"}, {16, ""}};
  builder.input("a", DType::i64, ids)
      .input("b", DType::f32, past)
      .input("c", DType::f32, past)
      .input("d", DType::i32, {{-1, "n"}})
      .input("e", DType::i32, {})
      .weight(make_tensor("words", DType::f32, {100, 32}))
      .weight(make_tensor("head", DType::f32, {32, 100}))
      .output("z", DType::f32, present)
      .output("k", DType::f32, present)
      .output("y", DType::f32, {{-1, "n"}, {-1, "s"}, {100, ""}})
      .node("Gather", {"words", "a"}, {"h"})
      .node("GroupQueryAttention", {"h", "h", "h", "b", "c", "d", "e"}, {"seen", "k", "z"}, {},
            "com.microsoft")
      .node("MatMul", {"seen", "head"}, {"y"});
  const auto decoder = find_decoder(builder.model());
  ASSERT_TRUE(decoder);
  EXPECT_THAT(decoder->roles, ElementsAre(tokens, cache, cache, last_position, total_length));
  EXPECT_THAT(decoder->caches, ElementsAre(CacheSpec{"b", "k", 2}, CacheSpec{"c", "z", 2}));
}

TEST(DecoderRoles, a_model_that_scores_no_tokens_is_no_decoder) {
  GraphBuilder builder;
  builder.input("ids", DType::i64, ids)
      .weight(make_tensor("words", DType::f32, {1000, 16}))
      .output("hidden", DType::f32, {{-1, "n"}, {-1, "s"}, {16, ""}})
      .node("Gather", {"words", "ids"}, {"hidden"});
  EXPECT_FALSE(find_decoder(builder.model()));
}

TEST(DecoderRoles, overrides_go_before_the_graph) {
  const auto decoder = find_decoder(small_decoder(), {{"x2", values}, {"c*", cache}});
  ASSERT_TRUE(decoder);
  EXPECT_EQ(decoder->roles[2], values);
  EXPECT_EQ(decoder->caches.size(), 4);
  EXPECT_THROW(find_decoder(small_decoder(), {{"past*", cache}}), Error);
  EXPECT_THROW(find_decoder(small_decoder(), {{"x1", cache}}), Error);
}

TEST(DecoderRoles, are_read_as_patterns) {
  EXPECT_EQ(parse_role("past.*=cache"), std::pair(std::string("past.*"), cache));
  EXPECT_THROW(parse_role("past.*=cash"), Error);
  EXPECT_THROW(parse_role("cache"), Error);
}

}  // namespace
}  // namespace vernier
