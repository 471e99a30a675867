#pragma once

#include "vernier/tensor/tensor.h"

namespace vernier {

// Whether the tensors are worth comparing in full to find out if one holds the other's values: as
// many elements, which are not all the same, and like each other in a few places.
bool may_be_alike(const TensorView& reference, const TensorView& candidate);

}  // namespace vernier
