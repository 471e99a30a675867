#include "vernier/analysis/compare/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "vernier/metrics/similarity.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr std::size_t max_rank = 5;

Shape permuted_shape(std::span<const std::int64_t> shape, std::span<const int> permutation) {
  Shape out;
  for (const int axis : permutation) out.push_back(shape[axis]);
  return out;
}

// For each result axis, the distance in elements between neighbours in the source.
Shape permuted_strides(std::span<const std::int64_t> shape, std::span<const int> permutation) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return permuted_shape(strides, permutation);
}

// An axis of the result, and the distances in elements between neighbours along it.
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

// Copies along two axes in tiles, so that neighbours on both sides stay in the cache.
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

// Copies plane by plane: the plane is of the axis that runs fastest in the source and the one that
// runs fastest in the result.
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

double sqnr_of(const TensorView& reference, const TensorView& candidate) {
  return sqnr_db(measure_noise(reference, candidate));
}

// The axes of length 1 do not move any element: only the order of the others tells layouts apart.
bool keeps_element_order(std::span<const std::int64_t> shape, std::span<const int> permutation) {
  int last = -1;
  for (const int axis : permutation) {
    if (shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

bool is_squeeze(std::span<const std::int64_t> reference, std::span<const std::int64_t> candidate) {
  const auto without_ones = [](std::span<const std::int64_t> shape) {
    Shape out;
    std::ranges::copy_if(shape, std::back_inserter(out), [](auto dim) { return dim != 1; });
    return out;
  };
  return without_ones(reference) == without_ones(candidate);
}

std::optional<LayoutChange> better(std::optional<LayoutChange> best, LayoutChange layout,
                                   double min_sqnr_db) {
  if (!(layout.sqnr_db >= min_sqnr_db)) return best;
  if (best && !(layout.sqnr_db > best->sqnr_db)) return best;
  return layout;
}

// The axes that are longer than 1 in their new order: what tells two element orders apart.
std::vector<int> moved_axes(std::span<const std::int64_t> shape, std::span<const int> permutation) {
  std::vector<int> axes;
  std::ranges::copy_if(permutation, std::back_inserter(axes),
                       [&](int axis) { return shape[axis] != 1; });
  return axes;
}

// The best so far, or a better one among the permutations that give the candidate's shape, or among
// those that do not.
std::optional<LayoutChange> best_permutation(std::optional<LayoutChange> best,
                                             const TensorView& reference,
                                             const TensorView& candidate, bool gives_shape,
                                             double min_sqnr_db) {
  std::set<std::vector<int>> tried;
  std::vector<int> permutation(reference.shape.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  while (std::next_permutation(permutation.begin(), permutation.end())) {
    const bool fits =
        std::ranges::equal(permuted_shape(reference.shape, permutation), candidate.shape);
    if (fits != gives_shape || keeps_element_order(reference.shape, permutation)) continue;
    if (!tried.insert(moved_axes(reference.shape, permutation)).second) continue;
    const double sqnr_db = sqnr_of(permute_axes(reference, permutation), candidate);
    best = better(best, {permutation, sqnr_db}, min_sqnr_db);
  }
  return best;
}

std::string permutation_name(const std::vector<int>& permutation) {
  const std::string tuple = fmt::format("permutation ({})", fmt::join(permutation, ","));
  if (permutation == std::vector{0, 2, 3, 1}) return "NCHW to NHWC, " + tuple;
  if (permutation == std::vector{0, 3, 1, 2}) return "NHWC to NCHW, " + tuple;
  if (permutation == std::vector{0, 2, 3, 4, 1}) return "NCDHW to NDHWC, " + tuple;
  if (permutation == std::vector{0, 4, 1, 2, 3}) return "NDHWC to NCDHW, " + tuple;
  return tuple;
}

}  // namespace

Tensor permute_axes(const TensorView& tensor, std::span<const int> permutation) {
  if (bits(tensor.dtype) == 4)
    return permute_axes(convert(tensor, is_signed(tensor.dtype) ? DType::i8 : DType::u8),
                        permutation);
  Tensor out = make_tensor(std::string(tensor.name), tensor.dtype,
                           permuted_shape(tensor.shape, permutation));
  // As bytes, since the elements of a file may lie at any address.
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

std::optional<LayoutChange> find_layout(const TensorView& reference, const TensorView& candidate,
                                        double min_sqnr_db) {
  if (reference.size() != candidate.size() || reference.size() < 2) return std::nullopt;
  std::optional<LayoutChange> best;
  if (!std::ranges::equal(reference.shape, candidate.shape))
    best = better(best, {{}, sqnr_of(reference, candidate)}, min_sqnr_db);
  if (reference.shape.size() > max_rank) return best;

  best = best_permutation(best, reference, candidate, true, min_sqnr_db);
  return best ? best : best_permutation(best, reference, candidate, false, min_sqnr_db);
}

std::string describe_layout(const LayoutChange& layout,
                            std::span<const std::int64_t> reference_shape,
                            std::span<const std::int64_t> candidate_shape) {
  if (layout.permutation.empty())
    return fmt::format("{} {} to {}",
                       is_squeeze(reference_shape, candidate_shape) ? "squeeze" : "reshape",
                       format_shape(reference_shape), format_shape(candidate_shape));
  const std::string name = permutation_name(layout.permutation);
  if (std::ranges::equal(permuted_shape(reference_shape, layout.permutation), candidate_shape))
    return name;
  return fmt::format("{}, then reshape to {}", name, format_shape(candidate_shape));
}

Tensor flip_kernel(const TensorView& kernel) {
  Tensor flipped = copy(kernel);
  if (flipped.size() == 0) return flipped;
  const std::size_t width = flipped.bytes.size() / static_cast<std::size_t>(flipped.size());
  std::size_t taps = 1;
  for (std::size_t i = 2; i < flipped.shape.size(); ++i) taps *= flipped.shape[i];
  for (std::size_t begin = 0; begin < flipped.bytes.size(); begin += taps * width)
    for (std::size_t i = 0; i < taps; ++i)
      std::copy_n(kernel.bytes.begin() + begin + (taps - 1 - i) * width, width,
                  flipped.bytes.begin() + begin + i * width);
  return flipped;
}

}  // namespace vernier
