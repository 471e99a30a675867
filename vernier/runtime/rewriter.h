#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Called with each watched tensor as it is produced, like an Observer; what it writes into `bytes`
// is what the tensor's readers get.
using Rewriter = std::function<void(const TensorView& tensor, std::span<std::byte> bytes)>;

}  // namespace vernier
