#include "vernier/metrics/segmentation.h"
#include "tests/metrics/special_values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/metrics/pair.h"
#include "tests/oracle/numpy.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using Map = std::vector<std::int64_t>;

TEST(Segmentation, labels_and_predictions_are_counted_by_class) {
  const ImagePixels counted = count_pixels(Map{0, 1, 1, 2}, Map{0, 0, 1, 2}, {.classes = 3});
  EXPECT_EQ(counted.classes, (std::vector<ClassPixels>{{1, 1, 2}, {1, 2, 1}, {1, 1, 1}}));
}

TEST(Segmentation, hand_computed_scores) {
  const auto pixels = count_pixels(Map{0, 1, 1, 2}, Map{0, 0, 1, 2}, {.classes = 4}).classes;
  EXPECT_EQ(intersection_over_union(pixels[0]), 50);
  EXPECT_EQ(intersection_over_union(pixels[2]), 100);
  EXPECT_TRUE(std::isnan(intersection_over_union(pixels[3])));
  EXPECT_EQ(mean_intersection_over_union(pixels), 66.6667);  // over the three that occur
  EXPECT_EQ(pixel_accuracy(pixels), 75);
}

TEST(Segmentation, a_class_predicted_but_never_a_label_counts_in_the_mean) {
  const auto pixels = count_pixels(Map{0, 1}, Map{0, 0}, {.classes = 2}).classes;
  EXPECT_EQ(mean_intersection_over_union(pixels), 25);
}

TEST(Segmentation, the_ignored_label_and_labels_outside_are_left_out_and_counted) {
  const ImagePixels counted =
      count_pixels(Map{0, 1, 1, 0}, Map{255, 7, 1, -3}, {.classes = 2, .ignored_label = 255});
  EXPECT_EQ(counted.ignored, 1);
  EXPECT_EQ(counted.labels_outside, 2);
  EXPECT_EQ(pixel_accuracy(counted.classes), 100);
}

TEST(Segmentation, a_prediction_that_is_no_class_is_wrong) {
  const auto pixels = count_pixels(Map{-1, 9, 1}, Map{1, 1, 1}, {.classes = 2}).classes;
  EXPECT_EQ(pixels[1], (ClassPixels{.intersection = 1, .predicted = 1, .labelled = 3}));
  EXPECT_EQ(pixel_accuracy(pixels), 33.3333);
}

TEST(Segmentation, parts_add_up_to_the_whole) {
  const SegmentationOptions options{.classes = 3, .ignored_label = 2};
  ImagePixels sum = count_pixels(Map{0, 1}, Map{0, 2}, options);
  sum += count_pixels(Map{1, 2}, Map{1, 9}, options);
  EXPECT_EQ(sum, count_pixels(Map{0, 1, 1, 2}, Map{0, 2, 1, 9}, options));
  sum += count_pixels(Map{4}, Map{4}, {.classes = 5});
  EXPECT_EQ(sum.classes.at(4), (ClassPixels{1, 1, 1}));
  sum += count_pixels(Map{1}, Map{1}, {.classes = 2});
  EXPECT_EQ(sum.classes.size(), 5u);
}

TEST(Segmentation, nothing_has_no_score) {
  const auto pixels = count_pixels(Map{}, Map{}, {.classes = 2}).classes;
  EXPECT_TRUE(std::isnan(mean_intersection_over_union(pixels)));
  EXPECT_TRUE(std::isnan(pixel_accuracy(pixels)));
}

TEST(Segmentation, the_best_class_of_a_pixel_is_the_first_with_the_highest_value) {
  const Tensor logits = f32({1, 5, nan_f, 0, 2, 5, 1, nan_f, 0, 4, 9, 9}, {3, 2, 2});
  EXPECT_EQ(best_classes(logits), (Map{1, 0, -1, -1}));
}

TEST(Segmentation, logits_of_another_size_are_interpolated_before_the_best_is_taken) {
  // Along a row of four, class 0 falls 3, 2.5, 1.5, 1 while class 1 is 2.2 throughout.
  const Tensor logits = f32({3, 1, 2.2f, 2.2f}, {2, 1, 2});
  EXPECT_EQ(best_classes(logits, 2, 4), (Map{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(best_classes(logits, 1, 2), (Map{0, 1}));
  EXPECT_EQ(best_classes(logits, 1, 1), (Map{1}));  // 2 against 2.2
  EXPECT_EQ(best_classes(f32({nan_f, 1, 0, 0}, {2, 1, 2}), 1, 4), (Map{-1, -1, -1, 0}));
}

TEST(Segmentation, unusable_arrays_are_errors) {
  EXPECT_THROW(count_pixels(Map{0}, Map{}, {.classes = 2}), Error);
  EXPECT_THROW(count_pixels(Map{}, Map{}, {}), Error);
  EXPECT_THROW(count_pixels(Map{}, Map{}, {.classes = most_classes_of_pixels + 1}), Error);
  EXPECT_THROW(best_classes(f32({}, {0, 2})), Error);
  EXPECT_THROW(best_classes(f32({1, 2}, {1, 2}), 2, 2), Error);
}

TEST(Segmentation, numpy_agrees) {
  const auto python = oracle::python_with("numpy");
  if (!python) GTEST_SKIP() << "no Python with numpy 2.4";
  const std::string maps = "(lambda p, l: ";
  const std::string drawn = ")(rng(1).integers(0, 5, 10000), rng(2).integers(0, 6, 10000) % 5)";
  const auto blobs = oracle::numpy_bytes(
      *python,
      {"rng(1).integers(0, 5, 10000)", "rng(2).integers(0, 6, 10000) % 5",
       maps + "[((p == c) & (l == c)).sum() / ((p == c) | (l == c)).sum() for c in range(5)]" +
           drawn,
       maps + "(p == l).mean()" + drawn});
  const auto pixels = count_pixels(oracle::values_of<std::int64_t>(blobs[0]),
                                   oracle::values_of<std::int64_t>(blobs[1]), {.classes = 5})
                          .classes;
  double mean = 0;
  for (int c = 0; c < 5; ++c) {
    const double expected = 100 * oracle::values_of<double>(blobs[2])[c];
    EXPECT_NEAR(intersection_over_union(pixels[c]), expected, 5.1e-5);
    mean += expected / 5;
  }
  EXPECT_NEAR(mean_intersection_over_union(pixels), mean, 5.1e-5);
  EXPECT_NEAR(pixel_accuracy(pixels), 100 * oracle::values_of<double>(blobs[3])[0], 5.1e-5);
}

}  // namespace
}  // namespace vernier
