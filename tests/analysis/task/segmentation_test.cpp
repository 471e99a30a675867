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

TEST(SegmentationImages, every_image_has_a_confusion) {
  const auto images =
      image_confusions(classes({0, 1, 2, 2}, {2, 1, 2}), classes({0, 0, 2, 1}, {2, 1, 2}), {});
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[0].classes, 3);
  EXPECT_EQ(images[0].at(0, 1), 1);
  EXPECT_EQ(images[1].at(1, 2), 1);
}

TEST(SegmentationImages, logits_bring_their_number_of_classes) {
  const Tensor logits = f32({1, 0, 0, 1, -1, -1}, {1, 3, 1, 2});
  const auto images = image_confusions(logits, classes({0, 1}, {1, 1, 2}), {});
  EXPECT_EQ(images[0].classes, 3);
  EXPECT_EQ(images[0].at(0, 0), 1);
  EXPECT_EQ(images[0].at(1, 1), 1);
}

TEST(SegmentationImages, the_ignored_label_is_no_class) {
  const auto images = image_confusions(classes({0, 1}, {1, 1, 2}), classes({255, 1}, {1, 1, 2}),
                                       {.ignored_label = 255});
  EXPECT_EQ(images[0].classes, 2);
  EXPECT_EQ(images[0].ignored, 1);
}

TEST(SegmentationImages, shapes_that_do_not_belong_together_are_errors) {
  EXPECT_THROW(image_confusions(classes({0, 1}, {1, 2, 1}), classes({0, 1}, {1, 1, 2}), {}), Error);
  EXPECT_THROW(image_confusions(classes({0, 1}, {2}), classes({0, 1}, {2}), {}), Error);
  EXPECT_THROW(image_confusions(f32({1, 2}, {1, 1, 1, 2}), classes({0, 1}, {1, 2}), {}), Error);
}

}  // namespace
}  // namespace vernier
