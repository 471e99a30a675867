#pragma once

#include <optional>
#include <string>

#include "vernier/tensor/dtype.h"

namespace vernier {

// Conversions from and to ONNX's element type numbers (TensorProto.DataType), which ONNX Runtime
// uses too. nullopt for types without a DType: strings, complex numbers and newer types.
std::optional<DType> dtype_of_onnx(int data_type);
int onnx_data_type(DType dtype);

// Bits per element of any ONNX type of fixed size; 0 for strings and unknown types.
int onnx_bits(int data_type);

// "float32", "string", "type 99": for messages.
std::string onnx_type_name(int data_type);

}  // namespace vernier
