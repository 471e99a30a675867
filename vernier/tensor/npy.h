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

// What an .npy header says, before any element is read.
struct NpyHeader {
  DType dtype = DType::f32;
  Shape shape;
  bool fortran_order = false;
  bool big_endian = false;
  std::int64_t data_bytes = 0;
  bool operator==(const NpyHeader&) const = default;
};

// Reads the header from a stream of `total_bytes` bytes, which must hold exactly the header and the
// elements it claims: that is checked before anything is allocated. `subject` names the array in
// errors. Dtypes that are not plain numbers are refused; object arrays would need pickle.
NpyHeader read_npy_header(const ByteReader& read, std::int64_t total_bytes,
                          const std::string& subject);

// Reads the elements that follow the header; always C order and little endian.
Tensor read_npy_data(const ByteReader& read, const NpyHeader& header, std::string name);

// `rows` slices of the leading axis of a C-order array, of which the stream is at the first.
Tensor read_npy_rows(const ByteReader& read, const NpyHeader& header, std::string name,
                     std::int64_t rows);

// The dtype that elements are stored as. Where numpy has no such dtype it is the smallest one that
// holds every value exactly: bfloat16 becomes float32, float8 float16, int4 int8, uint4 uint8.
DType npy_dtype(DType dtype);

// The elements of a tensor as they are stored: its own bytes, or widened ones. Valid as long as the
// tensor is.
class NpyElements {
 public:
  explicit NpyElements(const TensorView& tensor);
  std::span<const std::byte> bytes() const { return widened_ ? widened_->bytes : own_; }

 private:
  std::span<const std::byte> own_;
  std::optional<Tensor> widened_;
};

// The header of a C-order, little-endian array stored as npy_dtype(dtype), padded as numpy does to
// a multiple of 64 bytes, and further to `min_size` if that is more.
std::string npy_header(DType dtype, std::span<const std::int64_t> shape, std::size_t min_size = 0);

Tensor read_npy(const std::filesystem::path& path);
void write_npy(const std::filesystem::path& path, const TensorView& tensor);

}  // namespace vernier
