#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

struct SegmentationOptions {
  std::int64_t classes = 0;
  std::optional<std::int64_t> ignored_label;  // pixels with this label are left out
};

// How often each label was predicted as each class, over all pixels added up so far.
struct Confusion {
  std::int64_t classes = 0;
  // labels x (classes + 1): the last column is for predictions that are no class, NaN among them.
  std::vector<std::int64_t> counts;
  std::int64_t ignored = 0;         // pixels with the ignored label
  std::int64_t labels_outside = 0;  // pixels with a label that is no class: left out too
  std::int64_t at(std::int64_t label, std::int64_t predicted) const {
    return counts[label * (classes + 1) + predicted];
  }
  Confusion& operator+=(const Confusion& other);
  bool operator==(const Confusion&) const = default;
};

// Of a map of classes and a map of labels with as many pixels.
Confusion confusion(std::span<const std::int64_t> predicted, std::span<const std::int64_t> labels,
                    const SegmentationOptions& options);

// The best class of each pixel of logits [classes, pixels…]: equal values by class, -1 where one is
// NaN.
std::vector<std::int64_t> best_classes(const TensorView& logits);

// Pixels of one class: labelled so and predicted so, predicted so, labelled so.
struct ClassPixels {
  std::int64_t intersection = 0, predicted = 0, labelled = 0;
  std::int64_t pixels_of_union() const { return predicted + labelled - intersection; }
  ClassPixels& operator+=(const ClassPixels& other);
  bool operator==(const ClassPixels&) const = default;
};

std::vector<ClassPixels> class_pixels(const Confusion& confusion);

// Intersection over union of a class in percent; NaN if it is neither predicted nor a label.
double intersection_over_union(const ClassPixels& pixels);
// The mean over the classes that are predicted or labels; NaN if there is none.
double mean_intersection_over_union(std::span<const ClassPixels> classes);
// The share of pixels predicted as they are labelled, in percent.
double pixel_accuracy(std::span<const ClassPixels> classes);

}  // namespace vernier
