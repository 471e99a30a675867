#include "vernier/analysis/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
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

// Calls visit(source_index) for every element of the result, in its order.
template <typename Visit>
void walk_permuted(const Shape& shape, const Shape& strides, Visit visit) {
  Shape position(shape.size(), 0);
  std::int64_t source = 0;
  for (std::int64_t left = element_count(shape); left > 0; --left) {
    visit(source);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      source += strides[axis];
      if (++position[axis] < shape[axis]) break;
      source -= strides[axis] * shape[axis];
      position[axis] = 0;
    }
  }
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
  const std::int64_t width = bits(tensor.dtype) / 8;
  std::byte* to = out.bytes.data();
  walk_permuted(out.shape, permuted_strides(tensor.shape, permutation), [&](std::int64_t source) {
    std::memcpy(to, tensor.bytes.data() + source * width, width);
    to += width;
  });
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

}  // namespace vernier
