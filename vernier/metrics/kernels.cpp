#include "vernier/metrics/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

#include "vernier/error.h"
#include "vernier/metrics/non_finite.h"
#include "vernier/metrics/pair_chunk.h"
#include "vernier/metrics/pairwise.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

bool fits_f32(DType dtype) { return dtype == DType::f32 || bits(dtype) <= 16; }

// One side of a pair, as float32 or float64 elements.
template <typename T>
class Side {
 public:
  explicit Side(const TensorView& tensor) : tensor_(tensor) {}

  // Elements [begin, begin + count), count <= chunk_size; valid until the next call.
  std::span<const T> read(std::size_t begin, std::size_t count) {
    constexpr DType own = std::is_same_v<T, float> ? DType::f32 : DType::f64;
    if (tensor_.dtype == own) return elements<T>(tensor_).subspan(begin, count);
    const std::span<T> widened(widened_.data(), count);
    widen(tensor_, static_cast<std::int64_t>(begin), widened);
    return widened;
  }

  // Elements [begin, begin + count) in float64.
  std::vector<double> read_f64(std::size_t begin, std::size_t count) const {
    std::vector<double> widened(count);
    widen(tensor_, static_cast<std::int64_t>(begin), widened);
    return widened;
  }

 private:
  const TensorView& tensor_;
  std::array<T, chunk_size> widened_;
};

// The pass over a pair, chunk by chunk.
template <typename T>
class Measurement {
 public:
  Measurement(const TensorView& reference, const TensorView& candidate)
      : reference_(reference), candidate_(candidate) {}

  PairSums run(std::size_t count) {
    const ChunkSums total =
        sum_pairwise(0, count, chunk_size,
                     [&](std::size_t begin, std::size_t size) { return chunk(begin, size); });
    // numpy starts at 0, so its sums are never -0.
    sums_.count = static_cast<std::int64_t>(count);
    sums_.reference_squares = total.reference_squares;
    sums_.candidate_squares = total.candidate_squares;
    sums_.products = total.products + 0.0;
    sums_.difference_squares = total.difference_squares;
    sums_.abs_differences = total.abs_differences;
    finish();
    return sums_;
  }

 private:
  ChunkSums chunk(std::size_t begin, std::size_t count) {
    const ChunkSums chunk = sum_chunk(reference_.read(begin, count), candidate_.read(begin, count));
    // Any NaN or infinity makes a sum of squares non-finite. So does overflow: then scan_chunk() is
    // not needed, but harmless.
    if (!std::isfinite(chunk.reference_squares) || !std::isfinite(chunk.candidate_squares)) {
      scan_chunk(begin, count);
    } else {
      sums_.max_abs_reference = std::max(sums_.max_abs_reference, chunk.max_abs_reference);
      raise_difference(chunk.max_abs_difference, begin + chunk.max_leaf, chunk.max_leaf_size);
    }
    return chunk;
  }

  // Handles a chunk that may hold NaN or infinity element by element.
  void scan_chunk(std::size_t begin, std::size_t count) {
    const auto reference = reference_.read_f64(begin, count);
    const auto candidate = candidate_.read_f64(begin, count);
    for (std::size_t i = 0; i < count; ++i) add_element(reference[i], candidate[i], begin + i);
  }

  void add_element(double reference, double candidate, std::size_t at) {
    sums_.reference_nan += std::isnan(reference);
    sums_.candidate_nan += std::isnan(candidate);
    sums_.reference_inf += std::isinf(reference);
    sums_.candidate_inf += std::isinf(candidate);
    sums_.max_abs_reference = std::max(sums_.max_abs_reference, std::abs(reference));
    const double difference = std::abs(reference - candidate);
    if (std::isnan(difference) && first_nan_ < 0) first_nan_ = static_cast<std::int64_t>(at);
    raise_difference(difference, at, 1);
  }

  void raise_difference(double value, std::size_t leaf, std::size_t count) {
    if (!(value > sums_.max_abs_difference)) return;
    sums_.max_abs_difference = value;
    max_leaf_ = leaf;
    max_leaf_size_ = count;
  }

  // Like numpy's max and argmax: NaN wins, and the first of equal elements.
  void finish() {
    if (sums_.count > 0) sums_.max_abs_difference_index = first_nan_ < 0 ? find_max() : first_nan_;
    if (first_nan_ >= 0) sums_.max_abs_difference = nan;
    if (sums_.reference_nan > 0) sums_.max_abs_reference = nan;
  }

  std::int64_t find_max() {
    const auto reference = reference_.read_f64(max_leaf_, max_leaf_size_);
    const auto candidate = candidate_.read_f64(max_leaf_, max_leaf_size_);
    for (std::size_t i = 0; i < max_leaf_size_; ++i)
      if (std::abs(reference[i] - candidate[i]) == sums_.max_abs_difference)
        return static_cast<std::int64_t>(max_leaf_ + i);
    return 0;  // no difference is above 0
  }

  Side<T> reference_, candidate_;
  PairSums sums_;
  std::size_t max_leaf_ = 0;
  std::size_t max_leaf_size_ = 0;
  std::int64_t first_nan_ = -1;
};

template <typename T>
NoiseSums noise_of(const TensorView& reference, const TensorView& candidate, std::size_t count) {
  Side<T> left(reference), right(candidate);
  const ChunkNoise noise =
      sum_pairwise(0, count, chunk_size, [&](std::size_t begin, std::size_t size) {
        return sum_chunk_noise(left.read(begin, size), right.read(begin, size));
      });
  return {static_cast<std::int64_t>(count), noise.reference_squares, noise.difference_squares};
}

std::size_t common_count(const TensorView& reference, const TensorView& candidate) {
  if (candidate.size() != reference.size())
    throw Error(
        fmt::format("[measure] '{}': reference has shape {}, candidate {}; element counts "
                    "must be equal",
                    reference.name, format_shape(reference.shape), format_shape(candidate.shape)));
  return static_cast<std::size_t>(reference.size());
}

bool fit_f32(const TensorView& reference, const TensorView& candidate) {
  return fits_f32(reference.dtype) && fits_f32(candidate.dtype);
}

// Like numpy's max: NaN wins.
double max_or_nan(double left, double right) {
  return std::isnan(left) || left > right ? left : right;
}

// Whether the maximum difference is in the second part: NaN wins, and the first of equals.
bool second_has_max(const PairSums& first, const PairSums& second) {
  if (first.count == 0 || second.count == 0) return second.count > 0;
  return !std::isnan(first.max_abs_difference) &&
         !(second.max_abs_difference <= first.max_abs_difference);
}

}  // namespace

PairSums measure(const TensorView& reference, const TensorView& candidate) {
  const std::size_t count = common_count(reference, candidate);
  if (fit_f32(reference, candidate)) return Measurement<float>(reference, candidate).run(count);
  return Measurement<double>(reference, candidate).run(count);
}

NoiseSums measure_noise(const TensorView& reference, const TensorView& candidate) {
  const std::size_t count = common_count(reference, candidate);
  if (fit_f32(reference, candidate)) return noise_of<float>(reference, candidate, count);
  return noise_of<double>(reference, candidate, count);
}

NoiseSums pool(const NoiseSums& first, const NoiseSums& second) {
  return {first.count + second.count, first.reference_squares + second.reference_squares,
          first.difference_squares + second.difference_squares};
}

PairSums pool(const PairSums& first, const PairSums& second) {
  PairSums pooled = first;
  pooled.count += second.count;
  pooled.reference_squares += second.reference_squares;
  pooled.candidate_squares += second.candidate_squares;
  pooled.products += second.products;
  pooled.difference_squares += second.difference_squares;
  pooled.abs_differences += second.abs_differences;
  pooled.max_abs_reference = max_or_nan(first.max_abs_reference, second.max_abs_reference);
  pooled.reference_nan += second.reference_nan;
  pooled.reference_inf += second.reference_inf;
  pooled.candidate_nan += second.candidate_nan;
  pooled.candidate_inf += second.candidate_inf;
  if (!second_has_max(first, second)) return pooled;
  pooled.max_abs_difference = second.max_abs_difference;
  pooled.max_abs_difference_index = first.count + second.max_abs_difference_index;
  return pooled;
}

}  // namespace vernier
