#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/tensor/dtype.h"

namespace vernier {

using Shape = std::vector<std::int64_t>;

// The product of the dimensions: 1 for a scalar, 0 if one is 0; nullopt if one is negative, or if
// the bytes of that many 64-bit elements would overflow 63 bits.
std::optional<std::int64_t> checked_element_count(std::span<const std::int64_t> shape);
// checked_element_count(), but throws Error instead of returning nullopt.
std::int64_t element_count(std::span<const std::int64_t> shape);

// "[1,3,224,224]"
std::string format_shape(std::span<const std::int64_t> shape);

// A tensor whose memory is owned elsewhere: C order, little endian.
struct TensorView {
  std::string_view name;
  DType dtype = DType::f32;
  std::span<const std::int64_t> shape;
  std::span<const std::byte> bytes;

  std::int64_t size() const { return element_count(shape); }
};

struct Tensor {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> bytes;

  std::int64_t size() const { return element_count(shape); }
  TensorView view() const { return {name, dtype, shape, bytes}; }
  operator TensorView() const {
    return view();
  }  // NOLINT: a tensor is a view wherever one is asked for
  bool operator==(const Tensor&) const = default;
};

// Throws Error if the number of bytes does not fit dtype and shape.
void check_byte_count(const TensorView& tensor);

// A zero-filled tensor. Throws Error if it does not fit in memory.
Tensor make_tensor(std::string name, DType dtype, Shape shape);
Tensor copy(TensorView view);

// The elements as T. The caller must make sure that the dtype is T's and the bytes are aligned.
template <typename T>
std::span<const T> elements(const TensorView& view) {
  return {reinterpret_cast<const T*>(view.bytes.data()), view.bytes.size() / sizeof(T)};
}
template <typename T>
std::span<T> elements(Tensor& tensor) {
  return {reinterpret_cast<T*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(T)};
}

// A tensor of these elements. T must be the dtype's type.
template <typename T>
Tensor tensor_of(std::string name, DType dtype, Shape shape, std::span<const T> values) {
  Tensor tensor = make_tensor(std::move(name), dtype, std::move(shape));
  std::ranges::copy(values, elements<T>(tensor).begin());
  return tensor;
}

// Rows [first, first + count) along the leading axis.
Tensor rows_of(const TensorView& tensor, std::int64_t first, std::int64_t count);

// Removes the leading dimension; throws Error unless that is 1.
Tensor unstack(Tensor stacked);

// One dimension of an input or output: a size, or a symbol (possibly unnamed) when it is dynamic.
struct Dim {
  std::int64_t size = -1;  // -1 if dynamic
  std::string symbol;
  bool is_dynamic() const { return size < 0; }
  bool operator==(const Dim&) const = default;
};

// A model's declaration of one of its inputs or outputs.
struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  std::vector<Dim> shape;
  bool ranked = true;  // false if the model does not declare the number of dimensions
  bool operator==(const TensorSpec&) const = default;
};

// The static dims of a shape, and the spec with this tensor's name, dtype and shape.
std::vector<Dim> static_dims(std::span<const std::int64_t> shape);
TensorSpec spec_of(const TensorView& tensor);

// "[batch,3,224,224]", with "?" for a dynamic dimension without a symbol.
std::string format_shape(const std::vector<Dim>& shape);

}  // namespace vernier
