#pragma once

#include <cstdint>
#include <optional>

#include "vernier/data/samples.h"
#include "vernier/model/model.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

// Whether inputs are like those that a float model was trained on, as its batch norms tell.
struct NormFit {
  // The mean over batch norms of the median over channels of (r - 1 - ln r + z^2) / 2: r is the
  // variance over the one of training, z the shift of the mean in its standard deviations.
  double score = 0;
  std::int64_t norms = 0;
  bool operator==(const NormFit&) const = default;
};

inline constexpr double fitting_norm_score = 0.15;  // at most, of inputs like those of training
inline constexpr std::int64_t enough_norms = 25;    // fewer tell nothing

// Runs the model on the samples, which are of its own inputs. Nothing where it has too few batch
// norms.
std::optional<NormFit> measure_norm_fit(const Model& model, Samples& samples,
                                        const OrtOptions& runtime);

}  // namespace vernier
