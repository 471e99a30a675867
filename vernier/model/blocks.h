#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "vernier/tensor/convert.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Whether the tensor is float32 and aligned, so that its elements can be read in place. A weight in
// a mapped file may start at any byte.
inline bool is_aligned_f32(const TensorView& tensor) {
  return tensor.dtype == DType::f32 &&
         reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % alignof(float) == 0;
}

// Calls visit(block) for the elements of a tensor in order: spans of double for float64 and for
// integers of more than 16 bits, spans of float for all other types. Aligned float32 is passed in
// place; everything else goes through a buffer that stays in cache.
template <typename Visit>
void visit_blocks(const TensorView& tensor, const Visit& visit) {
  const auto widened = [&]<typename T>(T) {
    std::array<T, 4096> buffer;
    const std::int64_t size = tensor.size();
    for (std::int64_t begin = 0; begin < size; begin += std::ssize(buffer)) {
      const auto count = static_cast<std::size_t>(std::min(size - begin, std::ssize(buffer)));
      const std::span block = std::span(buffer).first(count);
      widen(tensor, begin, block);
      visit(std::span<const T>(block));
    }
  };
  if (is_aligned_f32(tensor))
    visit(elements<float>(tensor));
  else if (tensor.dtype == DType::f64 || (is_integer(tensor.dtype) && bits(tensor.dtype) > 16))
    widened(double{});
  else
    widened(float{});
}

}  // namespace vernier
