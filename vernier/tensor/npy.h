#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Reads exactly out.size() bytes or throws Error.
using ByteReader = std::function<void(std::span<std::byte> out)>;

// What an .npy header says, before any element is read.
struct NpyHeader {
  DType dtype = DType::f32;
  Shape shape;
  bool fortran_order = false;
  bool big_endian = false;
  std::int64_t data_bytes = 0;
};

// Reads the header from a stream of `total_bytes` bytes; the element bytes it claims are checked
// against what is left before anything is allocated. `subject` names the array in errors.
NpyHeader read_npy_header(const ByteReader& read, std::int64_t total_bytes,
                          const std::string& subject);

// Reads the elements that follow the header; always C order and little endian.
Tensor read_npy_data(const ByteReader& read, const NpyHeader& header, std::string name);

// The header bytes of a C-order, little-endian array, padded to 64 bytes as numpy writes them.
// bfloat16, float8 and 4-bit types have no numpy dtype; see docs/architecture.md for how they are
// written.
std::string npy_header(DType dtype, std::span<const std::int64_t> shape);

Tensor read_npy(const std::filesystem::path& path);
void write_npy(const std::filesystem::path& path, const TensorView& tensor);

}  // namespace vernier
