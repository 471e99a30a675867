#include "vernier/tensor/permute.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// For each result axis, its stride in the source, in elements.
Shape permuted_strides(std::span<const std::int64_t> shape, std::span<const int> permutation) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return permuted_shape(strides, permutation);
}

// An axis of the result, with its strides in source and result, in elements.
struct PermutedAxis {
  std::int64_t size = 1, source_stride = 0, result_stride = 0;
};

std::vector<PermutedAxis> permuted_axes(std::span<const std::int64_t> shape,
                                        std::span<const int> permutation) {
  const Shape sizes = permuted_shape(shape, permutation);
  const Shape strides = permuted_strides(shape, permutation);
  std::vector<PermutedAxis> axes;
  std::int64_t stride = element_count(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    stride /= std::max<std::int64_t>(sizes[i], 1);
    axes.push_back({sizes[i], strides[i], stride});
  }
  return axes;
}

// Copies along two axes in tiles, so that source and result stay in the cache.
template <typename T>
void copy_plane(const T* source, T* result, const PermutedAxis& rows, const PermutedAxis& columns) {
  constexpr std::int64_t tile = 32;
  for (std::int64_t top = 0; top < rows.size; top += tile)
    for (std::int64_t left = 0; left < columns.size; left += tile)
      for (std::int64_t i = top; i < std::min(top + tile, rows.size); ++i)
        for (std::int64_t j = left; j < std::min(left + tile, columns.size); ++j)
          result[i * rows.result_stride + j * columns.result_stride] =
              source[i * rows.source_stride + j * columns.source_stride];
}

// Copies plane by plane. A plane consists of the result's last axis and, of the others, the one
// with the smallest stride in the source.
template <typename T>
void copy_permuted(const T* source, T* result, std::vector<PermutedAxis> axes) {
  PermutedAxis columns, rows;
  if (!axes.empty()) columns = axes.back(), axes.pop_back();
  const auto fastest = std::ranges::min_element(axes, {}, &PermutedAxis::source_stride);
  if (fastest != axes.end()) rows = *fastest, axes.erase(fastest);
  const auto copy_rest = [&](const auto& self, std::size_t axis, const T* from, T* to) -> void {
    if (axis == axes.size()) return copy_plane(from, to, rows, columns);
    for (std::int64_t i = 0; i < axes[axis].size; ++i)
      self(self, axis + 1, from + i * axes[axis].source_stride, to + i * axes[axis].result_stride);
  };
  copy_rest(copy_rest, 0, source, result);
}

}  // namespace

Shape permuted_shape(std::span<const std::int64_t> shape, std::span<const int> permutation) {
  Shape out;
  for (const int axis : permutation) out.push_back(shape[axis]);
  return out;
}

Tensor permute_axes(const TensorView& tensor, std::span<const int> permutation) {
  if (bits(tensor.dtype) == 4)
    return permute_axes(convert(tensor, is_signed(tensor.dtype) ? DType::i8 : DType::u8),
                        permutation);
  Tensor out = make_tensor(std::string(tensor.name), tensor.dtype,
                           permuted_shape(tensor.shape, permutation));
  // Copied as arrays of bytes, since the elements of a file may be unaligned.
  const auto copy_as = [&]<typename T>(T) {
    copy_permuted(reinterpret_cast<const T*>(tensor.bytes.data()),
                  reinterpret_cast<T*>(out.bytes.data()), permuted_axes(tensor.shape, permutation));
  };
  switch (bits(tensor.dtype)) {
    case 64: copy_as(std::array<std::byte, 8>{}); break;
    case 32: copy_as(std::array<std::byte, 4>{}); break;
    case 16: copy_as(std::array<std::byte, 2>{}); break;
    default: copy_as(std::array<std::byte, 1>{}); break;
  }
  return out;
}

}  // namespace vernier
