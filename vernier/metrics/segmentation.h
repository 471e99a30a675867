#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

inline constexpr std::int64_t most_classes_of_pixels = 1'000'000;

struct SegmentationOptions {
  std::int64_t classes = 0;                   // 1 to most_classes_of_pixels
  std::optional<std::int64_t> ignored_label;  // pixels with this label are left out
};

// Pixel counts of one class: predicted and labelled as this class, predicted as it, labelled as it.
struct ClassPixels {
  std::int64_t intersection = 0, predicted = 0, labelled = 0;
  std::int64_t pixels_of_union() const { return predicted + labelled - intersection; }
  ClassPixels& operator+=(const ClassPixels& other);
  bool operator==(const ClassPixels&) const = default;
};

// Pixel counts of one image, or summed over several.
struct ImagePixels {
  std::vector<ClassPixels> classes;
  std::int64_t ignored = 0;         // pixels with the ignored label
  std::int64_t labels_outside = 0;  // pixels whose label is not a class; not counted in `classes`
  ImagePixels& operator+=(const ImagePixels& other);  // the numbers of classes may differ
  bool operator==(const ImagePixels&) const = default;
};

// Counts the pixels of a predicted class map and a label map of the same size. A prediction outside
// the classes is wrong.
ImagePixels count_pixels(std::span<const std::int64_t> predicted,
                         std::span<const std::int64_t> labels, const SegmentationOptions& options);

// The best class of each pixel of logits [classes, pixels…]: the lowest class on ties, -1 if a
// logit of the pixel is NaN.
std::vector<std::int64_t> best_classes(const TensorView& logits);

// The best classes of a map of height x width. Logits [classes, h, w] of another size are
// interpolated first: bilinear with align_corners=False, as in PyTorch's interpolate.
std::vector<std::int64_t> best_classes(const TensorView& logits, std::int64_t height,
                                       std::int64_t width);

// Intersection over union of a class in percent; NaN if it is neither predicted nor labelled.
double intersection_over_union(const ClassPixels& pixels);
// The mean over the classes that are predicted or labelled; NaN if there is none.
double mean_intersection_over_union(std::span<const ClassPixels> classes);
// The share of correctly predicted pixels, in percent; NaN if there are none.
double pixel_accuracy(std::span<const ClassPixels> classes);

}  // namespace vernier
