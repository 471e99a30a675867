#include "vernier/analysis/compare/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

constexpr std::size_t max_rank = 5;

double sqnr_of(const TensorView& reference, const TensorView& candidate) {
  return sqnr_db(measure_noise(reference, candidate));
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

// The axes longer than 1, in their new order: equal lists give the same element order, and a sorted
// list keeps it.
std::vector<int> moved_axes(std::span<const std::int64_t> shape, std::span<const int> permutation) {
  std::vector<int> axes;
  std::ranges::copy_if(permutation, std::back_inserter(axes),
                       [&](int axis) { return shape[axis] != 1; });
  return axes;
}

// The best of `best` and the permutations that give the candidate's shape, or that do not.
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
    std::vector<int> moved = moved_axes(reference.shape, permutation);
    if (fits != gives_shape || std::ranges::is_sorted(moved)) continue;
    if (!tried.insert(std::move(moved)).second) continue;
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
