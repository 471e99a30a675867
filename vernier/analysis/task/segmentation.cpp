#include "vernier/analysis/task/segmentation.h"

#include <fmt/format.h>

#include <algorithm>

#include "vernier/error.h"
#include "vernier/metrics/classification.h"

namespace vernier {
namespace {

void check(const TensorView& predictions, const TensorView& labels) {
  Shape expected(labels.shape.begin(), labels.shape.end());
  const bool are_logits = predictions.shape.size() == 4;
  if (are_logits && expected.size() == 3)
    expected.insert(expected.begin() + 1, predictions.shape[1]);
  if (labels.shape.size() != 3 || !std::ranges::equal(predictions.shape, expected))
    throw Error(
        fmt::format("[miou] predictions have shape {}, labels {}; expected classes "
                    "[images,height,width] or logits [images,classes,height,width] and "
                    "labels [images,height,width] of the same size",
                    format_shape(predictions.shape), format_shape(labels.shape)));
}

// One slice along the leading axis.
TensorView image_of(const TensorView& batch, std::int64_t image) {
  const std::size_t bytes = batch.bytes.size() / batch.shape[0];
  return {batch.name, batch.dtype, batch.shape.subspan(1),
          batch.bytes.subspan(image * bytes, bytes)};
}

std::int64_t highest_class(const TensorView& classes, std::optional<std::int64_t> ignored) {
  std::int64_t highest = -1;
  for (const std::int64_t value : to_integers(classes))
    if (value != ignored) highest = std::max(highest, value);
  return highest;
}

std::int64_t count_classes(const TensorView& predictions, const TensorView& labels,
                           const SegmentationOptions& options) {
  if (options.classes > 0) return options.classes;
  if (predictions.shape.size() == 4) return predictions.shape[1];
  return 1 + std::max(highest_class(predictions, options.ignored_label),
                      highest_class(labels, options.ignored_label));
}

}  // namespace

std::vector<ImagePixels> segmented_images(const TensorView& predictions, const TensorView& labels,
                                          const SegmentationOptions& options) {
  check(predictions, labels);
  SegmentationOptions counted = options;
  counted.classes = count_classes(predictions, labels, options);
  std::vector<ImagePixels> images;
  for (std::int64_t image = 0; image < labels.shape[0]; ++image) {
    const TensorView prediction = image_of(predictions, image);
    const std::vector<std::int64_t> classes =
        predictions.shape.size() == 4 ? best_classes(prediction) : to_integers(prediction);
    images.push_back(count_pixels(classes, to_integers(image_of(labels, image)), counted));
  }
  return images;
}

std::vector<std::int64_t> predicted_map(const TensorView& prediction, std::int64_t height,
                                        std::int64_t width) {
  if (prediction.shape.size() == 3) return best_classes(prediction, height, width);
  if (prediction.shape.size() != 2 || prediction.size() == 0)
    throw Error(fmt::format(
        "[miou] '{}' has shape {} for an image, expected classes [height,width] or logits "
        "[classes,height,width]",
        prediction.name, format_shape(prediction.shape)));
  const std::vector<std::int64_t> classes = to_integers(prediction);
  const std::int64_t old_height = prediction.shape[0], old_width = prediction.shape[1];
  std::vector<std::int64_t> map;
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      map.push_back(classes[y * old_height / height * old_width + x * old_width / width]);
  return map;
}

}  // namespace vernier
