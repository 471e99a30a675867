#pragma once

#include <cstdint>
#include <optional>

#include "vernier/data/samples.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

class ModelIndex;

inline constexpr double fitting_norm_score = 0.15;  // training-like inputs score at most this

// Whether inputs are like those that a float model was trained on, by its batch norms' statistics.
struct NormFit {
  // The mean over batch norms of the median over channels of (r - 1 - ln r + z^2) / 2, with r =
  // observed / trained variance, and z the shift of the mean in trained standard deviations.
  double score = 0;
  std::int64_t norms = 0;
  bool fits() const { return score <= fitting_norm_score; }
  bool operator==(const NormFit&) const = default;
};

inline constexpr std::int64_t enough_norms = 25;  // fewer prove nothing

// Runs the model on samples of its own inputs. nullopt if it has too few batch norms.
std::optional<NormFit> measure_norm_fit(const ModelIndex& index, Samples& samples,
                                        const OrtOptions& runtime);

}  // namespace vernier
