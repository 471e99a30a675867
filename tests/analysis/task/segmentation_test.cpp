#include "vernier/analysis/task/segmentation.h"

#include <gtest/gtest.h>

#include "tests/metrics/pair.h"
#include "vernier/error.h"

namespace vernier {
namespace {

Tensor classes(std::vector<double> values, Shape shape) {
  Tensor tensor = tensor_as(DType::u8, values);
  tensor.shape = std::move(shape);
  return tensor;
}

TEST(SegmentationImages, every_image_is_counted) {
  const auto images =
      segmented_images(classes({0, 1, 2, 2}, {2, 1, 2}), classes({0, 0, 2, 1}, {2, 1, 2}), {});
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[0].classes, (std::vector<ClassPixels>{{1, 1, 2}, {0, 1, 0}, {}}));
  EXPECT_EQ(images[1].classes, (std::vector<ClassPixels>{{}, {0, 0, 1}, {1, 2, 1}}));
}

TEST(SegmentationImages, logits_bring_their_number_of_classes) {
  const Tensor logits = f32({1, 0, 0, 1, -1, -1}, {1, 3, 1, 2});
  const auto images = segmented_images(logits, classes({0, 1}, {1, 1, 2}), {});
  EXPECT_EQ(images[0].classes, (std::vector<ClassPixels>{{1, 1, 1}, {1, 1, 1}, {}}));
}

TEST(SegmentationImages, the_ignored_label_is_no_class) {
  const auto images = segmented_images(classes({0, 1}, {1, 1, 2}), classes({255, 1}, {1, 1, 2}),
                                       {.ignored_label = 255});
  EXPECT_EQ(images[0].classes.size(), 2u);
  EXPECT_EQ(images[0].ignored, 1);
}

TEST(SegmentationImages, shapes_that_do_not_belong_together_are_errors) {
  EXPECT_THROW(segmented_images(classes({0, 1}, {1, 2, 1}), classes({0, 1}, {1, 1, 2}), {}), Error);
  EXPECT_THROW(segmented_images(classes({0, 1}, {2}), classes({0, 1}, {2}), {}), Error);
  EXPECT_THROW(segmented_images(f32({1, 2}, {1, 1, 1, 2}), classes({0, 1}, {1, 2}), {}), Error);
}

TEST(SegmentationImages, a_prediction_takes_the_size_of_its_labels) {
  using Map = std::vector<std::int64_t>;
  EXPECT_EQ(predicted_map(classes({1, 2}, {1, 2}), 2, 4), (Map{1, 1, 2, 2, 1, 1, 2, 2}));
  EXPECT_EQ(predicted_map(classes({1, 2, 3, 4}, {2, 2}), 1, 1), (Map{1}));
  EXPECT_EQ(predicted_map(f32({3, 1, 2, 2}, {2, 1, 2}), 1, 4), (Map{0, 0, 1, 1}));
  EXPECT_THROW(predicted_map(f32({3, 1}, {1, 2}), 1, 2), Error);  // floats are no classes
  EXPECT_THROW(predicted_map(classes({1, 2}, {2}), 1, 2), Error);
}

}  // namespace
}  // namespace vernier
