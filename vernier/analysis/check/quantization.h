#pragma once

#include "vernier/analysis/check/graphs.h"

namespace vernier {

// QuantizeLinear and DequantizeLinear that are out of place, or whose numbers make no sense.
Findings check_quantization(const Graphs& graphs);

}  // namespace vernier
