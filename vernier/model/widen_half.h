#pragma once

#include <functional>
#include <optional>
#include <string>

#include "vernier/model/model.h"

namespace vernier {

// Returns the float32 tensor that replaces a constant stored in half precision, with the same
// shape; nullopt to keep the stored values. `name` is that of the initializer or node output.
using WiderConstant =
    std::function<std::optional<Tensor>(const std::string& name, const TensorView& stored)>;

// The model with all float16 and bfloat16 weights, constants, casts, inputs and outputs turned into
// float32, in subgraphs too. Local functions are left as they are.
Model widen_half(const Model& model, const WiderConstant& wider);

}  // namespace vernier
