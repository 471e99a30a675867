#pragma once

#include <cstdint>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// One slice along the leading axis. Its shape is a view into that of `rows`.
TensorView row_of(const TensorView& rows, std::int64_t row);

// The elements of one row along the last axis; rows of all other axes are counted together.
std::vector<float> row_to_f32(const TensorView& tensor, std::int64_t row);

}  // namespace vernier
