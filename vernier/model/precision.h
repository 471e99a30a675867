#pragma once

#include <string_view>

#include "vernier/model/model.h"

namespace vernier {

// What a model computes in: by its weights and its quantizing operators.
enum class Precision { fp32, fp16, int8 };

std::string_view precision_name(Precision precision);

// int8 for a model that quantizes (Q-DQ pairs, QOperator, integer or block-quantized matrix
// products, of whatever width), fp16 when most weight bytes are float16 or bfloat16, else fp32.
Precision precision_of(const Model& model);

// What reports call it: "int4" where most of what is quantized are weights of 4 bits.
std::string_view precision_name(const Model& model);

}  // namespace vernier
