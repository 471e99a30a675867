#pragma once

#include <cstddef>
#include <span>

namespace vernier {

// Maximum number of elements of a chunk, a range of a pair that is converted and summed at once.
inline constexpr std::size_t chunk_size = 8192;
// numpy's pairwise summation halves a range until at most this many elements are left.
inline constexpr std::size_t leaf_size = 128;

// The sums and maxima of one chunk. The maxima are valid only if all elements are finite.
struct ChunkSums {
  double reference_squares = 0;
  double candidate_squares = 0;
  double products = 0;
  double difference_squares = 0;
  double abs_differences = 0;
  double max_abs_reference = 0;
  double max_abs_difference = 0;
  std::size_t max_leaf = 0;       // begin of the first leaf that contains max_abs_difference
  std::size_t max_leaf_size = 0;  // 0 if the chunk is empty
};

// The sums that SQNR is computed from.
struct ChunkNoise {
  double reference_squares = 0;
  double difference_squares = 0;
};

// The sums of two adjacent ranges. Maxima are dropped.
inline ChunkSums operator+(const ChunkSums& first, const ChunkSums& second) {
  return {.reference_squares = first.reference_squares + second.reference_squares,
          .candidate_squares = first.candidate_squares + second.candidate_squares,
          .products = first.products + second.products,
          .difference_squares = first.difference_squares + second.difference_squares,
          .abs_differences = first.abs_differences + second.abs_differences};
}
inline ChunkNoise operator+(const ChunkNoise& first, const ChunkNoise& second) {
  return {first.reference_squares + second.reference_squares,
          first.difference_squares + second.difference_squares};
}

// Sums in numpy's pairwise order, with the best SIMD target of this CPU; every target gives the
// same bits. Both spans must have the same length, at most chunk_size.
ChunkSums sum_chunk(std::span<const float> reference, std::span<const float> candidate);
ChunkSums sum_chunk(std::span<const double> reference, std::span<const double> candidate);
ChunkNoise sum_chunk_noise(std::span<const float> reference, std::span<const float> candidate);
ChunkNoise sum_chunk_noise(std::span<const double> reference, std::span<const double> candidate);

}  // namespace vernier
