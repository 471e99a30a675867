#pragma once

#include <vector>

#include "vernier/analysis/evidence/model_weights.h"
#include "vernier/analysis/evidence/paired_weight.h"

namespace vernier {

// Both settle, by what all rows have in common, whether a weight is the same.

// Weights that differ are the same after all if factors for their channels explain each of them and
// these factors cancel between the weights.
void explain_equalised(std::vector<PairedWeight>& rows, const std::vector<ModelWeight>& references,
                       const std::vector<ModelWeight>& candidates);

// A weight that was multiplied as a whole differs, unless another changed weight may cancel the
// factor.
void settle_scaled(std::vector<PairedWeight>& rows);

}  // namespace vernier
