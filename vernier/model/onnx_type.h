#pragma once

#include <optional>
#include <string>

#include "vernier/tensor/dtype.h"

namespace vernier {

// ONNX numbers its element types (TensorProto.DataType); ONNX Runtime uses the same numbers.
// Strings, complex numbers and types newer than these have no DType.
std::optional<DType> dtype_of_onnx(int data_type);
int onnx_data_type(DType dtype);

// Bits of one element of any ONNX type that has a fixed size, 0 for strings and what is unknown.
int onnx_bits(int data_type);

// "float32", "string", "type 99": for messages.
std::string onnx_type_name(int data_type);

}  // namespace vernier
