#pragma once

#include <functional>
#include <optional>
#include <string>

#include "vernier/model/model.h"

namespace vernier {

// What stands in the place of a constant that is stored in half precision, in float32 and of its
// shape, by its name: of the initializer, or of what the node writes. Nothing: its own values.
using WiderConstant =
    std::function<std::optional<Tensor>(const std::string& name, const TensorView& stored)>;

// The model with all that is float16 or bfloat16 in float32: weights, constants, casts, inputs and
// outputs, in subgraphs too. Local functions are left as they are.
Model widen_half(const Model& model, const WiderConstant& wider);

}  // namespace vernier
