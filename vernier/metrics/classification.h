#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// The best classes of each sample, best first. Unused places are -1; if the model returned NaN, all
// places of the sample are.
struct Rankings {
  std::int64_t samples = 0;
  std::int64_t depth = 0;
  std::vector<std::int64_t> classes;  // samples x depth

  std::span<const std::int64_t> of(std::int64_t sample) const {
    return std::span(classes).subspan(sample * depth, depth);
  }
  bool operator==(const Rankings&) const = default;
};

// Ranks the classes of logits [samples, classes] by value, equal values by class number. `depth` is
// capped at the number of classes. A sample with a NaN has no ranked classes. Throws Error for
// another shape.
Rankings rank_logits(const TensorView& logits, std::int64_t depth = 5);

// For each sample, 1 if its label is among its `depth` best classes, else 0.
std::vector<std::uint8_t> hits(const Rankings& rankings, std::span<const std::int64_t> labels,
                               std::int64_t depth);

// 100 · part / whole rounded to 4 decimals; NaN if `whole` is 0.
double percentage(double part, double whole);
double accuracy(std::span<const std::uint8_t> hits);  // in percent

struct ClassAccuracy {
  std::int64_t label = 0;
  std::int64_t samples = 0;
  std::int64_t correct = 0;
  bool operator==(const ClassAccuracy&) const = default;
};

// One entry for each label that occurs, in ascending order.
std::vector<ClassAccuracy> accuracy_by_class(std::span<const std::uint8_t> hits,
                                             std::span<const std::int64_t> labels);

// A sample whose best class differs between reference and candidate; -1 if the model ranked none.
struct FlippedSample {
  std::int64_t sample = 0;  // counted from 0
  std::int64_t label = 0;
  std::int64_t reference = 0;
  std::int64_t candidate = 0;
  bool operator==(const FlippedSample&) const = default;
};

// In the order of the samples.
std::vector<FlippedSample> flipped_samples(const Rankings& reference, const Rankings& candidate,
                                           std::span<const std::int64_t> labels);

// Counts of flipped samples.
struct Flips {
  std::int64_t flipped = 0;
  std::int64_t to_wrong = 0;  // only the reference is right
  std::int64_t to_right = 0;  // only the candidate is right
  bool operator==(const Flips&) const = default;
};

Flips count_flips(std::span<const FlippedSample> samples);

// The accuracy in percent of always predicting the `depth` most frequent labels.
double chance_accuracy(std::span<const std::int64_t> labels, std::int64_t depth = 1);

// The number of labels outside [0, classes).
std::int64_t count_outside(std::span<const std::int64_t> labels, std::int64_t classes);

// The elements of an integer tensor, such as labels or token ids. Throws Error for other dtypes.
std::vector<std::int64_t> to_integers(const TensorView& tensor);

}  // namespace vernier
