#pragma once

#include <cstdint>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Everything one pass over a pair gives. Sums run in the order of numpy 2.4, so each equals its
// float64 expression bit for bit; where numpy propagates NaN, so does this.
struct PairSums {
  std::int64_t count = 0;
  double reference_squares = 0;                // sum r*r
  double candidate_squares = 0;                // sum c*c
  double products = 0;                         // sum r*c
  double difference_squares = 0;               // sum (r-c)*(r-c)
  double abs_differences = 0;                  // sum |r-c|
  double max_abs_reference = 0;                // max |r|
  double max_abs_difference = 0;               // max |r-c|
  std::int64_t max_abs_difference_index = -1;  // first such element, -1 if empty
  std::int64_t reference_nan = 0, reference_inf = 0;
  std::int64_t candidate_nan = 0, candidate_inf = 0;
  bool operator==(const PairSums&) const = default;
};

// The two of them that SQNR is made of.
struct NoiseSums {
  std::int64_t count = 0;
  double reference_squares = 0;
  double difference_squares = 0;
  bool operator==(const NoiseSums&) const = default;
};

// One pass over a pair, on one core. Shapes may differ, element counts may not: throws Error.
PairSums measure(const TensorView& reference, const TensorView& candidate);
// The same bits in less time, where SQNR is all that is asked for.
NoiseSums measure_noise(const TensorView& reference, const TensorView& candidate);

// The sums of a first and a second part taken as one tensor, the second behind the first. Adding up
// samples in this way is defined by their order: pool them in sample order.
PairSums pool(const PairSums& first, const PairSums& second);
NoiseSums pool(const NoiseSums& first, const NoiseSums& second);

}  // namespace vernier
