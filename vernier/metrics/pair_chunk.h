#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vernier {

// What numpy adds up in one go: a sum takes its array in chunks of this many elements.
inline constexpr std::size_t chunk_size = 8192;
// A chunk is halved until at most this many elements are left.
inline constexpr std::size_t leaf_size = 128;

// The sums and maxima of one chunk of a pair. The maxima hold for finite elements only.
struct ChunkSums {
  double reference_squares = 0;
  double candidate_squares = 0;
  double products = 0;
  double difference_squares = 0;
  double abs_differences = 0;
  double max_abs_reference = 0;
  double max_abs_difference = 0;
  std::size_t max_leaf = 0;       // where the first leaf that holds max_abs_difference begins
  std::size_t max_leaf_size = 0;  // 0 if the chunk is empty
};

// The two of them that say how much noise there is.
struct ChunkNoise {
  double reference_squares = 0;
  double difference_squares = 0;
};

// Sums in numpy's pairwise order, on the best SIMD target of this CPU; every target gives the same
// bits. Both spans have the same length, at most chunk_size.
ChunkSums sum_chunk(std::span<const float> reference, std::span<const float> candidate);
ChunkSums sum_chunk(std::span<const double> reference, std::span<const double> candidate);
ChunkNoise sum_chunk_noise(std::span<const float> reference, std::span<const float> candidate);
ChunkNoise sum_chunk_noise(std::span<const double> reference, std::span<const double> candidate);

}  // namespace vernier
