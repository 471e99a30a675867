#include "vernier/metrics/segmentation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/metrics/pair.h"
#include "tests/oracle/numpy.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using Map = std::vector<std::int64_t>;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

TEST(Segmentation, labels_and_predictions_are_counted_by_pair) {
  const Confusion counted = confusion(Map{0, 1, 1, 2}, Map{0, 0, 1, 2}, {.classes = 3});
  EXPECT_EQ(counted.at(0, 0), 1);
  EXPECT_EQ(counted.at(0, 1), 1);
  EXPECT_EQ(counted.at(1, 0), 0);
  EXPECT_EQ(class_pixels(counted), (std::vector<ClassPixels>{{1, 1, 2}, {1, 2, 1}, {1, 1, 1}}));
}

TEST(Segmentation, hand_computed_scores) {
  const auto pixels = class_pixels(confusion(Map{0, 1, 1, 2}, Map{0, 0, 1, 2}, {.classes = 4}));
  EXPECT_EQ(intersection_over_union(pixels[0]), 50);
  EXPECT_EQ(intersection_over_union(pixels[2]), 100);
  EXPECT_TRUE(std::isnan(intersection_over_union(pixels[3])));
  EXPECT_EQ(mean_intersection_over_union(pixels), 66.6667);  // over the three that occur
  EXPECT_EQ(pixel_accuracy(pixels), 75);
}

TEST(Segmentation, a_class_predicted_but_never_a_label_counts_in_the_mean) {
  const auto pixels = class_pixels(confusion(Map{0, 1}, Map{0, 0}, {.classes = 2}));
  EXPECT_EQ(mean_intersection_over_union(pixels), 25);
}

TEST(Segmentation, the_ignored_label_and_labels_outside_are_left_out_and_counted) {
  const Confusion counted =
      confusion(Map{0, 1, 1, 0}, Map{255, 7, 1, -3}, {.classes = 2, .ignored_label = 255});
  EXPECT_EQ(counted.ignored, 1);
  EXPECT_EQ(counted.labels_outside, 2);
  EXPECT_EQ(pixel_accuracy(class_pixels(counted)), 100);
}

TEST(Segmentation, a_prediction_that_is_no_class_is_wrong) {
  const auto pixels = class_pixels(confusion(Map{-1, 9, 1}, Map{1, 1, 1}, {.classes = 2}));
  EXPECT_EQ(pixels[1], (ClassPixels{.intersection = 1, .predicted = 1, .labelled = 3}));
  EXPECT_EQ(pixel_accuracy(pixels), 33.3333);
}

TEST(Segmentation, parts_add_up_to_the_whole) {
  const SegmentationOptions options{.classes = 3, .ignored_label = 2};
  Confusion sum = confusion(Map{0, 1}, Map{0, 2}, options);
  sum += confusion(Map{1, 2}, Map{1, 9}, options);
  EXPECT_EQ(sum, confusion(Map{0, 1, 1, 2}, Map{0, 2, 1, 9}, options));
  EXPECT_THROW(sum += confusion(Map{}, Map{}, {.classes = 2}), Error);
}

TEST(Segmentation, nothing_has_no_score) {
  const auto pixels = class_pixels(confusion(Map{}, Map{}, {.classes = 2}));
  EXPECT_TRUE(std::isnan(mean_intersection_over_union(pixels)));
  EXPECT_TRUE(std::isnan(pixel_accuracy(pixels)));
}

TEST(Segmentation, the_best_class_of_a_pixel_is_the_first_with_the_highest_value) {
  const Tensor logits = f32({1, 5, nan, 0, 2, 5, 1, nan, 0, 4, 9, 9}, {3, 2, 2});
  EXPECT_EQ(best_classes(logits), (Map{1, 0, -1, -1}));
}

TEST(Segmentation, unusable_arrays_are_errors) {
  EXPECT_THROW(confusion(Map{0}, Map{}, {.classes = 2}), Error);
  EXPECT_THROW(confusion(Map{}, Map{}, {}), Error);
  EXPECT_THROW(best_classes(f32({}, {0, 2})), Error);
}

TEST(Segmentation, numpy_agrees) {
  const auto python = oracle::python_with("numpy");
  if (!python) GTEST_SKIP() << "no Python with numpy";
  const std::string maps = "(lambda p, l: ";
  const std::string drawn = ")(rng(1).integers(0, 5, 10000), rng(2).integers(0, 6, 10000) % 5)";
  const auto blobs = oracle::numpy_bytes(
      *python,
      {"rng(1).integers(0, 5, 10000)", "rng(2).integers(0, 6, 10000) % 5",
       maps + "[((p == c) & (l == c)).sum() / ((p == c) | (l == c)).sum() for c in range(5)]" +
           drawn,
       maps + "(p == l).mean()" + drawn});
  const auto pixels =
      class_pixels(confusion(oracle::values_of<std::int64_t>(blobs[0]),
                             oracle::values_of<std::int64_t>(blobs[1]), {.classes = 5}));
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
