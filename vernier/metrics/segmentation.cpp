#include "vernier/metrics/segmentation.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "vernier/error.h"
#include "vernier/metrics/classification.h"
#include "vernier/tensor/convert.h"

namespace vernier {

Confusion& Confusion::operator+=(const Confusion& other) {
  if (classes != other.classes)
    throw Error(
        fmt::format("[segmentation] cannot add up {} and {} classes", classes, other.classes));
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  ignored += other.ignored;
  labels_outside += other.labels_outside;
  return *this;
}

Confusion confusion(std::span<const std::int64_t> predicted, std::span<const std::int64_t> labels,
                    const SegmentationOptions& options) {
  if (predicted.size() != labels.size())
    throw Error(
        fmt::format("[segmentation] {} predicted pixels for {} labels; both maps must have "
                    "the same size",
                    predicted.size(), labels.size()));
  if (options.classes < 1)
    throw Error(fmt::format("[segmentation] {} classes, expected 1 or more", options.classes));
  const auto is_class = [&](std::int64_t c) { return c >= 0 && c < options.classes; };
  Confusion result{.classes = options.classes};
  result.counts.resize(options.classes * (options.classes + 1));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == options.ignored_label) {
      ++result.ignored;
    } else if (!is_class(labels[i])) {
      ++result.labels_outside;
    } else {
      const std::int64_t column = is_class(predicted[i]) ? predicted[i] : options.classes;
      ++result.counts[labels[i] * (options.classes + 1) + column];
    }
  }
  return result;
}

std::vector<std::int64_t> best_classes(const TensorView& logits) {
  if (logits.shape.empty() || logits.shape[0] < 1)
    throw Error(fmt::format("[segmentation] '{}' has shape {}, expected [classes,height,width]",
                            logits.name, format_shape(logits.shape)));
  const std::int64_t pixels = element_count(logits.shape.subspan(1));
  std::vector<double> best(pixels), values(pixels);
  std::vector<std::int64_t> classes(pixels, 0);
  widen(logits, 0, std::span(best));
  for (std::int64_t c = 1; c < logits.shape[0]; ++c) {
    widen(logits, c * pixels, std::span(values));
    for (std::int64_t i = 0; i < pixels; ++i) {
      if (values[i] <= best[i] || std::isnan(best[i])) continue;  // NaN stays, and is taken over
      best[i] = values[i];
      classes[i] = c;
    }
  }
  for (std::int64_t i = 0; i < pixels; ++i)
    if (std::isnan(best[i])) classes[i] = -1;
  return classes;
}

ClassPixels& ClassPixels::operator+=(const ClassPixels& other) {
  intersection += other.intersection;
  predicted += other.predicted;
  labelled += other.labelled;
  return *this;
}

std::vector<ClassPixels> class_pixels(const Confusion& confusion) {
  std::vector<ClassPixels> classes(confusion.classes);
  for (std::int64_t label = 0; label < confusion.classes; ++label) {
    classes[label].intersection = confusion.at(label, label);
    for (std::int64_t predicted = 0; predicted <= confusion.classes; ++predicted) {
      classes[label].labelled += confusion.at(label, predicted);
      if (predicted < confusion.classes)
        classes[predicted].predicted += confusion.at(label, predicted);
    }
  }
  return classes;
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
