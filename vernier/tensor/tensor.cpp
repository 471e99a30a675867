#include "vernier/tensor/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <new>

#include "vernier/error.h"

namespace vernier {

std::optional<std::int64_t> checked_element_count(std::span<const std::int64_t> shape) {
  constexpr std::int64_t max_count = std::numeric_limits<std::int64_t>::max() / 8;
  if (std::ranges::any_of(shape, [](std::int64_t dim) { return dim < 0; })) return std::nullopt;
  std::int64_t count = 1;
  bool fits = true;
  for (const std::int64_t dim : shape) {
    if (dim == 0) return 0;
    fits = fits && !__builtin_mul_overflow(count, dim, &count) && count <= max_count;
  }
  return fits ? std::optional(count) : std::nullopt;
}

std::int64_t element_count(std::span<const std::int64_t> shape) {
  const std::optional<std::int64_t> count = checked_element_count(shape);
  if (!count)
    throw Error(fmt::format("[tensor] shape {} has no valid element count", format_shape(shape)));
  return *count;
}

std::string format_shape(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

std::string format_shape(const std::vector<Dim>& shape) {
  std::vector<std::string> dims;
  dims.reserve(shape.size());
  for (const Dim& dim : shape)
    dims.push_back(dim.is_dynamic() ? (dim.symbol.empty() ? "?" : dim.symbol)
                                    : std::to_string(dim.size));
  return fmt::format("[{}]", fmt::join(dims, ","));
}

std::vector<Dim> static_dims(std::span<const std::int64_t> shape) {
  std::vector<Dim> dims;
  for (const std::int64_t size : shape) dims.push_back({size, ""});
  return dims;
}

TensorSpec spec_of(const TensorView& tensor) {
  return {std::string(tensor.name), tensor.dtype, static_dims(tensor.shape)};
}

void check_byte_count(const TensorView& tensor) {
  const std::int64_t expected = byte_size(tensor.dtype, tensor.size());
  if (static_cast<std::int64_t>(tensor.bytes.size()) != expected)
    throw Error(fmt::format("[tensor] '{}': {} {} takes {} bytes, found {}", tensor.name,
                            dtype_name(tensor.dtype), format_shape(tensor.shape), expected,
                            tensor.bytes.size()));
}

Tensor make_tensor(std::string name, DType dtype, Shape shape) {
  const std::int64_t size = byte_size(dtype, element_count(shape));
  try {
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    return {std::move(name), dtype, std::move(shape), std::move(bytes)};
  } catch (const std::bad_alloc&) {
    throw Error(fmt::format("[memory] '{}': {} {} takes {} bytes, and there is not enough memory",
                            name, dtype_name(dtype), format_shape(shape), size));
  }
}

Tensor rows_of(const TensorView& tensor, std::int64_t first, std::int64_t count) {
  Shape shape(tensor.shape.begin(), tensor.shape.end());
  shape.front() = count;
  Tensor rows = make_tensor(std::string(tensor.name), tensor.dtype, std::move(shape));
  if (count > 0)
    std::ranges::copy(tensor.bytes.subspan(first * (rows.bytes.size() / count), rows.bytes.size()),
                      rows.bytes.begin());
  return rows;
}

Tensor unstack(Tensor stacked) {
  if (stacked.shape.empty() || stacked.shape[0] != 1)
    throw Error(fmt::format("[npz] '{}': shape {} is not one row", stacked.name,
                            format_shape(stacked.shape)));
  stacked.shape.erase(stacked.shape.begin());
  return stacked;
}

Tensor copy(TensorView view) {
  return {std::string(view.name),
          view.dtype,
          {view.shape.begin(), view.shape.end()},
          {view.bytes.begin(), view.bytes.end()}};
}

}  // namespace vernier
