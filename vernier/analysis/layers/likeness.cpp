#include "vernier/analysis/layers/likeness.h"

#include <cstring>

#include "vernier/metrics/similarity.h"

namespace vernier {
namespace {

constexpr std::int64_t places = 1024;

std::size_t width(const TensorView& tensor) { return bits(tensor.dtype) / 8; }

// Says nothing about where it comes from: masks, zeros.
bool is_constant(const TensorView& tensor) {
  const std::size_t bytes = tensor.bytes.size(), element = width(tensor);
  return std::memcmp(tensor.bytes.data(), tensor.bytes.data() + element, bytes - element) == 0;
}

// Elements at even distances.
Tensor thinned(const TensorView& tensor) {
  Tensor out = make_tensor("", tensor.dtype, {places});
  const std::int64_t stride = tensor.size() / places;
  for (std::int64_t i = 0; i < places; ++i)
    std::memcpy(out.bytes.data() + i * width(tensor),
                tensor.bytes.data() + i * stride * width(tensor), width(tensor));
  return out;
}

}  // namespace

bool may_be_alike(const TensorView& reference, const TensorView& candidate) {
  if (reference.size() != candidate.size() || reference.size() < 2) return false;
  if (width(reference) == 0 || width(candidate) == 0) return false;  // 4-bit: packed
  if (reference.size() >= 4 * places &&
      !(sqnr_db(measure_noise(thinned(reference), thinned(candidate))) > 0))
    return false;
  return !is_constant(reference);
}

}  // namespace vernier
