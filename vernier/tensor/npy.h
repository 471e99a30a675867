#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Reads exactly out.size() bytes or throws Error.
using ByteReader = std::function<void(std::span<std::byte> out)>;

// The content of an .npy header.
struct NpyHeader {
  DType dtype = DType::f32;
  Shape shape;
  bool fortran_order = false;
  bool big_endian = false;
  std::int64_t data_bytes = 0;
  bool operator==(const NpyHeader&) const = default;
};

// Reads the header from a stream of `total_bytes` bytes, which must hold exactly the header and the
// elements that it declares; this is checked before anything is allocated. `subject` names the
// array in errors. Throws Error for dtypes other than plain numbers; objects would need pickle.
NpyHeader read_npy_header(const ByteReader& read, std::int64_t total_bytes,
                          const std::string& subject);

// Reads the elements that follow the header, and converts them to C order and little endian.
Tensor read_npy_data(const ByteReader& read, const NpyHeader& header, std::string name);

// Reads the next `rows` slices along the leading axis of a C-order array.
Tensor read_npy_rows(const ByteReader& read, const NpyHeader& header, std::string name,
                     std::int64_t rows);

// The dtype in which elements are stored. If numpy does not have the dtype, it is the smallest that
// represents every value exactly: float32 for bfloat16, float16 for float8, int8 for int4, uint8
// for uint4.
DType npy_dtype(DType dtype);

// The elements of a tensor as stored in an .npy: its own bytes, or widened to npy_dtype(). Valid as
// long as the tensor.
class NpyElements {
 public:
  explicit NpyElements(const TensorView& tensor);
  std::span<const std::byte> bytes() const { return widened_ ? widened_->bytes : own_; }

 private:
  std::span<const std::byte> own_;
  std::optional<Tensor> widened_;
};

// The header of a C-order, little-endian array stored as npy_dtype(dtype), padded to a multiple of
// 64 bytes as by numpy, or to `min_size` if that is larger.
std::string npy_header(DType dtype, std::span<const std::int64_t> shape, std::size_t min_size = 0);

Tensor read_npy(const std::filesystem::path& path);
void write_npy(const std::filesystem::path& path, const TensorView& tensor);

}  // namespace vernier
