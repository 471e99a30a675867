#include "vernier/tensor/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vernier/error.h"

namespace vernier {

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count))
      throw Error(fmt::format("[tensor] shape {} has no valid element count", format_shape(shape)));
  }
  return count;
}

std::string format_shape(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

std::string format_shape(const std::vector<Dim>& shape) {
  std::vector<std::string> dims;
  for (const Dim& dim : shape)
    dims.push_back(dim.is_dynamic() ? (dim.symbol.empty() ? "?" : dim.symbol)
                                    : std::to_string(dim.size));
  return fmt::format("[{}]", fmt::join(dims, ","));
}

Tensor make_tensor(std::string name, DType dtype, Shape shape) {
  const std::int64_t bytes = byte_size(dtype, element_count(shape));
  return {std::move(name), dtype, std::move(shape), std::vector<std::byte>(bytes)};
}

Tensor copy(TensorView view) {
  return {std::string(view.name),
          view.dtype,
          {view.shape.begin(), view.shape.end()},
          {view.bytes.begin(), view.bytes.end()}};
}

}  // namespace vernier
