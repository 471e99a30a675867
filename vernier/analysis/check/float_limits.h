#pragma once

#include "vernier/tensor/dtype.h"

namespace vernier {

// The smallest normal number of a float type; float32's for all other types.
constexpr double smallest_normal(DType dtype) {
  switch (dtype) {
    case DType::f64: return 0x1p-1022;
    case DType::f16: return 0x1p-14;
    default: return 0x1p-126;
  }
}

// Half of the smallest positive number: magnitudes up to it round to 0. 0 for other types.
constexpr double vanishing_below(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x1p-25;
    case DType::bf16: return 0x1p-134;
    case DType::f32: return 0x1p-150;
    default: return 0;
  }
}

}  // namespace vernier
