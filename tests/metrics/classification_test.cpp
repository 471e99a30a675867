#include "vernier/metrics/classification.h"
#include "tests/metrics/special_values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/metrics/pair.h"
#include "vernier/error.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using Labels = std::vector<std::int64_t>;
using Hits = std::vector<std::uint8_t>;

TEST(Classification, classes_rank_by_value_and_ties_by_class) {
  const Rankings ranked = rank_logits(f32({1, 3, 2, 5, 5, 5}, {2, 3}), 2);
  EXPECT_EQ(ranked, (Rankings{2, 2, {1, 2, 0, 1}}));
}

TEST(Classification, depth_is_capped_at_the_classes) {
  EXPECT_EQ(rank_logits(f32({0, 1}, {1, 2}), 5), (Rankings{1, 2, {1, 0}}));
}

TEST(Classification, a_row_with_nan_ranks_nothing_and_is_wrong) {
  const Rankings ranked = rank_logits(f32({nan_f, 3, 2, 5}, {2, 2}), 1);
  EXPECT_EQ(ranked.classes, (Labels{-1, 1}));
  EXPECT_EQ(hits(ranked, Labels{1, 1}, 1), (Hits{0, 1}));
  EXPECT_EQ(hits(ranked, Labels{-1, -1}, 1), (Hits{0, 0}));
}

TEST(Classification, infinity_is_a_value_like_any_other) {
  EXPECT_EQ(rank_logits(f32({-inf_f, 3, inf_f}, {1, 3}), 3).classes, (Labels{2, 1, 0}));
}

TEST(Classification, hits_look_as_deep_as_they_are_told) {
  const Rankings ranked = rank_logits(f32({1, 3, 2, 5, 4, 3}, {2, 3}), 3);
  EXPECT_EQ(hits(ranked, Labels{2, 1}, 1), (Hits{0, 0}));
  EXPECT_EQ(hits(ranked, Labels{2, 1}, 2), (Hits{1, 1}));
  EXPECT_EQ(hits(ranked, Labels{2, 9}, 99), (Hits{1, 0}));
}

TEST(Classification, percentages_are_rounded_to_four_decimals) {
  EXPECT_EQ(percentage(1, 3), 33.3333);
  EXPECT_EQ(percentage(2, 3), 66.6667);
  EXPECT_EQ(percentage(944, 1000), 94.4);
  EXPECT_EQ(accuracy(Hits{1, 0, 1, 1}), 75);
  EXPECT_TRUE(std::isnan(accuracy(Hits{})));
}

TEST(Classification, every_label_that_occurs_has_its_accuracy) {
  EXPECT_EQ(accuracy_by_class(Hits{1, 0, 1, 0}, Labels{5, 2, 5, 2}),
            (std::vector<ClassAccuracy>{{2, 2, 0}, {5, 2, 2}}));
}

TEST(Classification, flips_are_counted_by_where_they_go) {
  const Rankings reference{5, 1, {0, 1, 2, 3, -1}}, candidate{5, 1, {0, 2, 1, 0, 4}};
  const auto flipped = flipped_samples(reference, candidate, Labels{0, 1, 1, 7, 4});
  EXPECT_EQ(flipped,
            (std::vector<FlippedSample>{{1, 1, 1, 2}, {2, 1, 2, 1}, {3, 7, 3, 0}, {4, 4, -1, 4}}));
  EXPECT_EQ(count_flips(flipped), (Flips{.flipped = 4, .to_wrong = 1, .to_right = 2}));
}

TEST(Classification, chance_is_naming_the_commonest_labels) {
  EXPECT_EQ(chance_accuracy(Labels{1, 1, 2, 3}), 50);
  EXPECT_EQ(chance_accuracy(Labels{1, 1, 2, 3}, 2), 75);
  EXPECT_EQ(chance_accuracy(Labels{1, 1, 2, 3}, 5), 100);
  EXPECT_TRUE(std::isnan(chance_accuracy(Labels{})));
}

TEST(Classification, labels_outside_the_classes_are_counted) {
  EXPECT_EQ(count_outside(Labels{-1, 0, 9, 10}, 10), 2);
}

TEST(Classification, integers_of_any_width_are_labels_and_floats_are_not) {
  EXPECT_EQ(to_integers(tensor_as(DType::u8, {0, 255})), (Labels{0, 255}));
  EXPECT_EQ(to_integers(tensor_as(DType::i32, {-1, 7})), (Labels{-1, 7}));
  EXPECT_THROW(to_integers(f32({1, 2})), Error);
}

TEST(Classification, unusable_arrays_are_errors) {
  EXPECT_THROW(rank_logits(f32({1, 2, 3})), Error);
  EXPECT_THROW(rank_logits(f32({}, {3, 0})), Error);
  EXPECT_THROW(hits(rank_logits(f32({1, 2}, {1, 2})), Labels{0, 1}, 1), Error);
  EXPECT_THROW(accuracy_by_class(Hits{1}, Labels{}), Error);
  const Rankings one{1, 1, {0}}, two{2, 1, {0, 1}};
  EXPECT_THROW(flipped_samples(one, two, Labels{0}), Error);
}

TEST(Classification, the_digits_have_their_known_accuracy) {
  const NpzReader features(VERNIER_FIXTURES "/mnist/mnist_features.npz");
  const Rankings ranked = rank_logits(features.read("logits"));
  EXPECT_EQ(accuracy(hits(ranked, to_integers(features.read("label")), 1)), 94.8);
}

}  // namespace
}  // namespace vernier
