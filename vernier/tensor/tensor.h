#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/tensor/dtype.h"

namespace vernier {

using Shape = std::vector<std::int64_t>;

// Product of the dimensions: 1 for a scalar, 0 if any is 0, nothing if one is negative or the bytes
// of 64-bit elements could not be counted in 63 bits.
std::optional<std::int64_t> checked_element_count(std::span<const std::int64_t> shape);
// The same, throwing Error where there is no count.
std::int64_t element_count(std::span<const std::int64_t> shape);

// "[1,3,224,224]"
std::string format_shape(std::span<const std::int64_t> shape);

// A tensor owned by someone else: C order, little endian.
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

// Throws Error if the bytes are not as many as dtype and shape say.
void check_byte_count(const TensorView& tensor);

// Zero-filled. Throws Error if it does not fit in memory.
Tensor make_tensor(std::string name, DType dtype, Shape shape);
Tensor copy(TensorView view);

// The elements as T, for tensors whose dtype is known to be T's. Only the size is checked.
template <typename T>
std::span<const T> elements(const TensorView& view) {
  return {reinterpret_cast<const T*>(view.bytes.data()), view.bytes.size() / sizeof(T)};
}
template <typename T>
std::span<T> elements(Tensor& tensor) {
  return {reinterpret_cast<T*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(T)};
}

// One dimension of an input or output: a size, or a symbol (possibly unnamed) when it is dynamic.
struct Dim {
  std::int64_t size = -1;  // -1: dynamic
  std::string symbol;
  bool is_dynamic() const { return size < 0; }
  bool operator==(const Dim&) const = default;
};

// What a model says of one of its inputs or outputs.
struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  std::vector<Dim> shape;
  bool ranked = true;  // false: the model does not say how many dimensions it has
  bool operator==(const TensorSpec&) const = default;
};

// "[batch,3,224,224]", "?" for a dynamic dimension without a name.
std::string format_shape(const std::vector<Dim>& shape);

}  // namespace vernier
