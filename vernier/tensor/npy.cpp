#include "vernier/tensor/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>

#include "vernier/error.h"
#include "vernier/tensor/atomic_file.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/inflate_limit.h"

namespace vernier {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are kept little endian");

void reverse_each(std::span<std::byte> bytes, std::size_t item) {
  for (std::size_t i = 0; i < bytes.size(); i += item)
    std::reverse(bytes.begin() + i, bytes.begin() + i + item);
}

// The elements of a Fortran-order array in C order.
template <std::size_t item>
std::vector<std::byte> transpose(std::span<const std::byte> in, const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size());  // of the Fortran order, in items
  std::exclusive_scan(shape.begin(), shape.end(), strides.begin(), std::int64_t{1},
                      std::multiplies<>());
  std::vector<std::int64_t> index(shape.size());
  std::vector<std::byte> out(in.size());
  std::int64_t from = 0;
  for (std::size_t to = 0; to < out.size(); to += item) {
    std::copy_n(in.begin() + from * item, item, out.begin() + to);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < shape[axis]) break;
      from -= index[axis] * strides[axis];
      index[axis] = 0;
    }
  }
  return out;
}

std::vector<std::byte> to_c_order(std::vector<std::byte> bytes, const NpyHeader& header) {
  if (!header.fortran_order || header.shape.size() < 2 || bytes.empty()) return bytes;
  switch (bits(header.dtype)) {
    case 8: return transpose<1>(bytes, header.shape);
    case 16: return transpose<2>(bytes, header.shape);
    case 32: return transpose<4>(bytes, header.shape);
    default: return transpose<8>(bytes, header.shape);
  }
}

Tensor read_elements(const ByteReader& read, const NpyHeader& header, std::string name,
                     Shape shape) {
  Tensor tensor = make_tensor(std::move(name), header.dtype, std::move(shape));
  read(tensor.bytes);
  if (header.big_endian) reverse_each(tensor.bytes, bits(header.dtype) / 8);
  return tensor;
}

}  // namespace

Tensor read_npy_data(const ByteReader& read, const NpyHeader& header, std::string name) {
  Tensor tensor = read_elements(read, header, std::move(name), header.shape);
  tensor.bytes = to_c_order(std::move(tensor.bytes), header);
  return tensor;
}

Tensor read_npy_rows(const ByteReader& read, const NpyHeader& header, std::string name,
                     std::int64_t rows) {
  Shape shape = header.shape;
  shape.front() = rows;
  return read_elements(read, header, std::move(name), std::move(shape));
}

NpyElements::NpyElements(const TensorView& tensor) : own_(tensor.bytes) {
  check_byte_count(tensor);
  if (npy_dtype(tensor.dtype) != tensor.dtype) widened_ = convert(tensor, npy_dtype(tensor.dtype));
}

Tensor read_npy(const std::filesystem::path& path) {
  const std::string subject = path.string();
  require_file("[npy]", path);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (!file && errno == ENOENT)
    throw Error(fmt::format("[npy] {}: no such file or folder", subject));
  if (!file) throw Error(fmt::format("[npy] {}: cannot open: {}", subject, std::strerror(errno)));
  std::error_code error;
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  if (error) throw Error(fmt::format("[npy] {}: cannot read: {}", subject, error.message()));
  const ByteReader read = [&](std::span<std::byte> out) {
    const std::size_t count = std::fread(out.data(), 1, out.size(), file.get());
    if (count != out.size())
      throw Error(fmt::format("[npy] {}: expected {} bytes, found {}", subject, out.size(), count));
  };
  const NpyHeader header = read_npy_header(read, size, subject);
  return read_npy_data(read, header, path.stem().string());
}

void write_npy(const std::filesystem::path& path, const TensorView& tensor) {
  const NpyElements stored(tensor);
  AtomicFile file(path);
  file.append(npy_header(tensor.dtype, tensor.shape));
  file.append(stored.bytes());
  file.commit();
}

}  // namespace vernier
