#pragma once

#include <string_view>

#include "vernier/model/graph.h"
#include "vernier/model/model.h"

namespace vernier {

// The precision of a model, judged by its weights and its quantizing operators.
enum class Precision { fp32, fp16, int8 };

std::string_view precision_name(Precision precision);

// The precision that a user names: "fp32" or nothing, "fp16", or integers of any width ("int4").
Precision named_precision(std::string_view name);

// Whether the node quantizes, dequantizes or computes with quantized numbers.
bool is_quantizing(const NodeProto& node);

// int8 for a model with quantizing operators of any width (Q-DQ pairs, QOperator, integer or
// block-quantized matrix products); fp16 if more weight elements are float16 or bfloat16 than
// float32; else fp32.
Precision precision_of(const Model& model);

// The precision as shown in reports: "int4" if most quantizing operators read 4-bit weights, else
// the name of precision_of().
std::string_view precision_name(const Model& model);

}  // namespace vernier
