#include "vernier/model/onnx_type.h"

#include <array>

namespace vernier {
namespace {

// TensorProto.DataType of each DType, in the order of the enum.
constexpr std::array<int, dtype_count> data_types = {11, 1, 10, 16, 17, 18, 19, 20, 7, 6,
                                                     5,  3, 13, 12, 4,  2,  22, 21, 9};

}  // namespace

std::optional<DType> dtype_of_onnx(int data_type) {
  for (int i = 0; i < dtype_count; ++i)
    if (data_types[i] == data_type) return static_cast<DType>(i);
  return std::nullopt;
}

int onnx_data_type(DType dtype) { return data_types[static_cast<std::size_t>(dtype)]; }

int onnx_bits(int data_type) {
  if (const auto dtype = dtype_of_onnx(data_type)) return bits(*dtype);
  switch (data_type) {
    case 14: return 64;
    case 15: return 128;
    case 23: return 4;
    case 24: return 8;
    case 25:
    case 26: return 2;
    default: return 0;
  }
}

std::string onnx_type_name(int data_type) {
  if (const auto dtype = dtype_of_onnx(data_type)) return std::string(dtype_name(*dtype));
  switch (data_type) {
    case 0: return "undefined";
    case 8: return "string";
    case 14: return "complex64";
    case 15: return "complex128";
    case 23: return "float4_e2m1";
    case 24: return "float8_e8m0";
    case 25: return "uint2";
    case 26: return "int2";
    default: return "type " + std::to_string(data_type);
  }
}

}  // namespace vernier
