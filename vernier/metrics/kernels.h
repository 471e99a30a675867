#pragma once

#include <cstdint>

#include "vernier/tensor/tensor.h"

namespace vernier {

// The results of one pass over a pair. Sums are added in the order of numpy 2.4, so each equals the
// numpy expression in float64 bit for bit; NaN propagates as in numpy.
struct PairSums {
  std::int64_t count = 0;
  double reference_squares = 0;                // sum r*r
  double candidate_squares = 0;                // sum c*c
  double products = 0;                         // sum r*c
  double difference_squares = 0;               // sum (r-c)*(r-c)
  double abs_differences = 0;                  // sum |r-c|
  double max_abs_reference = 0;                // max |r|
  double max_abs_difference = 0;               // max |r-c|
  std::int64_t max_abs_difference_index = -1;  // of the first such element; -1 if empty
  std::int64_t reference_nan = 0, reference_inf = 0;
  std::int64_t candidate_nan = 0, candidate_inf = 0;
  bool operator==(const PairSums&) const = default;
};

// The sums that SQNR is computed from.
struct NoiseSums {
  std::int64_t count = 0;
  double reference_squares = 0;
  double difference_squares = 0;
  bool operator==(const NoiseSums&) const = default;
};

// One pass over a pair, on one core. Shapes may differ; throws Error if the element counts differ.
PairSums measure(const TensorView& reference, const TensorView& candidate);
// The same sums as measure(), bit for bit, in less time, for callers that need only SQNR.
NoiseSums measure_noise(const TensorView& reference, const TensorView& candidate);

// The sums of two tensors, concatenated. The result depends on the order: pool samples in the order
// of their numbers.
PairSums pool(const PairSums& first, const PairSums& second);
NoiseSums pool(const NoiseSums& first, const NoiseSums& second);

}  // namespace vernier
