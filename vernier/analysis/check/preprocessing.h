#pragma once

#include "vernier/analysis/check/check.h"
#include "vernier/analysis/check/graphs.h"

namespace vernier {

// Whether the first operators and the input of an image model fit how its images are prepared.
// Throws Error when the preprocessing that the options name cannot be read.
Findings check_preprocessing(const Graphs& graphs, const CheckOptions& options);

}  // namespace vernier
