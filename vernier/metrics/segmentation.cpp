#include "vernier/metrics/segmentation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "vernier/error.h"
#include "vernier/metrics/classification.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// The highest value of each pixel so far and its class: the first one on ties, -1 for NaN.
class BestClasses {
 public:
  explicit BestClasses(std::int64_t pixels)
      : values_(pixels, -std::numeric_limits<double>::infinity()), classes_(pixels, 0) {}

  void offer(std::int64_t pixel, std::int64_t class_number, double value) {
    if (value <= values_[pixel] || std::isnan(values_[pixel])) return;  // a NaN is kept for good
    values_[pixel] = value;
    classes_[pixel] = std::isnan(value) ? -1 : class_number;
  }
  std::vector<std::int64_t> classes() { return std::move(classes_); }

 private:
  std::vector<double> values_;
  std::vector<std::int64_t> classes_;
};

// A position between two elements.
struct Between {
  std::int64_t first = 0, second = 0;
  double share = 0;  // weight of the second
};

// The positions of the centres of `size` elements among `old_size` elements, clamped to the edges.
std::vector<Between> interpolation(std::int64_t old_size, std::int64_t size) {
  const double scale = static_cast<double>(old_size) / static_cast<double>(size);
  std::vector<Between> places;
  for (std::int64_t i = 0; i < size; ++i) {
    const double at = std::max(0.0, (static_cast<double>(i) + 0.5) * scale - 0.5);
    const auto first = std::min(static_cast<std::int64_t>(at), old_size - 1);
    places.push_back({first, std::min(first + 1, old_size - 1), at - static_cast<double>(first)});
  }
  return places;
}

double interpolated(std::span<const double> plane, std::int64_t width, const Between& row,
                    const Between& column) {
  const auto in_row = [&](std::int64_t y) {
    return plane[y * width + column.first] * (1 - column.share) +
           plane[y * width + column.second] * column.share;
  };
  return in_row(row.first) * (1 - row.share) + in_row(row.second) * row.share;
}

void check_logits(const TensorView& logits, std::size_t rank) {
  if (logits.shape.empty() || logits.shape.size() != rank || logits.size() == 0)
    throw Error(fmt::format("[segmentation] '{}' has shape {}, expected [classes,height,width]",
                            logits.name, format_shape(logits.shape)));
}

}  // namespace

ImagePixels count_pixels(std::span<const std::int64_t> predicted,
                         std::span<const std::int64_t> labels, const SegmentationOptions& options) {
  if (predicted.size() != labels.size())
    throw Error(
        fmt::format("[segmentation] {} predicted pixels for {} labels; both maps must have "
                    "the same size",
                    predicted.size(), labels.size()));
  if (options.classes < 1 || options.classes > most_classes_of_pixels)
    throw Error(fmt::format("[segmentation] {} classes, expected 1 to {}", options.classes,
                            most_classes_of_pixels));
  const auto is_class = [&](std::int64_t c) { return c >= 0 && c < options.classes; };
  ImagePixels result{.classes = std::vector<ClassPixels>(options.classes)};
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == options.ignored_label) {
      ++result.ignored;
    } else if (!is_class(labels[i])) {
      ++result.labels_outside;
    } else {
      ++result.classes[labels[i]].labelled;
      if (is_class(predicted[i])) ++result.classes[predicted[i]].predicted;
      if (predicted[i] == labels[i]) ++result.classes[labels[i]].intersection;
    }
  }
  return result;
}

std::vector<std::int64_t> best_classes(const TensorView& logits) {
  check_logits(logits, logits.shape.size());
  const std::int64_t pixels = element_count(logits.shape.subspan(1));
  BestClasses best(pixels);
  std::vector<double> plane(pixels);
  for (std::int64_t c = 0; c < logits.shape[0]; ++c) {
    widen(logits, c * pixels, std::span(plane));
    for (std::int64_t i = 0; i < pixels; ++i) best.offer(i, c, plane[i]);
  }
  return best.classes();
}

std::vector<std::int64_t> best_classes(const TensorView& logits, std::int64_t height,
                                       std::int64_t width) {
  check_logits(logits, 3);
  const std::int64_t old_height = logits.shape[1], old_width = logits.shape[2];
  if (old_height == height && old_width == width) return best_classes(logits);
  const std::vector<Between> rows = interpolation(old_height, height);
  const std::vector<Between> columns = interpolation(old_width, width);
  BestClasses best(height * width);
  std::vector<double> plane(old_height * old_width);
  for (std::int64_t c = 0; c < logits.shape[0]; ++c) {
    widen(logits, c * old_height * old_width, std::span(plane));
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x)
        best.offer(y * width + x, c,
                   interpolated(std::span(plane), old_width, rows[y], columns[x]));
  }
  return best.classes();
}

ClassPixels& ClassPixels::operator+=(const ClassPixels& other) {
  intersection += other.intersection;
  predicted += other.predicted;
  labelled += other.labelled;
  return *this;
}

ImagePixels& ImagePixels::operator+=(const ImagePixels& other) {
  classes.resize(std::max(classes.size(), other.classes.size()));
  for (std::size_t c = 0; c < other.classes.size(); ++c) classes[c] += other.classes[c];
  ignored += other.ignored;
  labels_outside += other.labels_outside;
  return *this;
}

double intersection_over_union(const ClassPixels& pixels) {
  return percentage(static_cast<double>(pixels.intersection),
                    static_cast<double>(pixels.pixels_of_union()));
}

double mean_intersection_over_union(std::span<const ClassPixels> classes) {
  double sum = 0, present = 0;
  for (const ClassPixels& pixels : classes) {
    if (pixels.pixels_of_union() == 0) continue;
    sum += static_cast<double>(pixels.intersection) / static_cast<double>(pixels.pixels_of_union());
    ++present;
  }
  return percentage(sum, present);
}

double pixel_accuracy(std::span<const ClassPixels> classes) {
  ClassPixels total;
  for (const ClassPixels& pixels : classes) total += pixels;
  return percentage(static_cast<double>(total.intersection), static_cast<double>(total.labelled));
}

}  // namespace vernier
