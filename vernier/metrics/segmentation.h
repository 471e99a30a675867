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

// Pixels of one class: labelled so and predicted so, predicted so, labelled so.
struct ClassPixels {
  std::int64_t intersection = 0, predicted = 0, labelled = 0;
  std::int64_t pixels_of_union() const { return predicted + labelled - intersection; }
  ClassPixels& operator+=(const ClassPixels& other);
  bool operator==(const ClassPixels&) const = default;
};

// What is kept of an image, or of several added up.
struct ImagePixels {
  std::vector<ClassPixels> classes;
  std::int64_t ignored = 0;         // pixels with the ignored label
  std::int64_t labels_outside = 0;  // pixels with a label that is no class: left out too
  ImagePixels& operator+=(const ImagePixels& other);  // which may have more or fewer classes
  bool operator==(const ImagePixels&) const = default;
};

// Of a map of classes and a map of labels with as many pixels. A prediction that is no class is
// wrong.
ImagePixels count_pixels(std::span<const std::int64_t> predicted,
                         std::span<const std::int64_t> labels, const SegmentationOptions& options);

// The best class of each pixel of logits [classes, pixels…]: equal values by class, -1 where one is
// NaN.
std::vector<std::int64_t> best_classes(const TensorView& logits);

// The same of a map of height x width, to which logits [classes, height, width] of another size are
// interpolated: bilinear, corners not aligned, as PyTorch's interpolate does by default.
std::vector<std::int64_t> best_classes(const TensorView& logits, std::int64_t height,
                                       std::int64_t width);

// Intersection over union of a class in percent; NaN if it is neither predicted nor a label.
double intersection_over_union(const ClassPixels& pixels);
// The mean over the classes that are predicted or labels; NaN if there is none.
double mean_intersection_over_union(std::span<const ClassPixels> classes);
// The share of pixels predicted as they are labelled, in percent.
double pixel_accuracy(std::span<const ClassPixels> classes);

}  // namespace vernier
