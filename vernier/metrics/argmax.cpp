#include "vernier/metrics/argmax.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Where numpy's argmax is; nothing if the row holds NaN.
std::optional<std::size_t> first_max(std::span<const double> row) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i])) return std::nullopt;
    if (row[i] > row[at]) at = i;
  }
  return at;
}

std::int64_t count_agreeing(std::span<const double> reference, std::span<const double> candidate,
                            std::size_t width) {
  std::int64_t agreeing = 0;
  for (std::size_t begin = 0; begin < reference.size(); begin += width) {
    const auto at = first_max(reference.subspan(begin, width));
    agreeing += at && at == first_max(candidate.subspan(begin, width));
  }
  return agreeing;
}

bool has_rows(const TensorView& tensor) { return !tensor.shape.empty() && tensor.size() > 0; }

}  // namespace

std::optional<double> argmax_agreement(const TensorView& reference, const TensorView& candidate) {
  if (!has_rows(reference) || !has_rows(candidate) || reference.size() != candidate.size() ||
      reference.shape.back() != candidate.shape.back())
    return std::nullopt;
  const std::int64_t count = reference.size(), width = reference.shape.back();
  // Short rows are widened many at a time.
  const std::int64_t block = std::min(count, std::max<std::int64_t>(1, 4096 / width) * width);
  std::vector<double> rows(static_cast<std::size_t>(block)), others(rows.size());
  std::int64_t agreeing = 0;
  for (std::int64_t begin = 0; begin < count; begin += block) {
    const auto size = static_cast<std::size_t>(std::min(block, count - begin));
    const std::span row(rows.data(), size), other(others.data(), size);
    widen(reference, begin, row);
    widen(candidate, begin, other);
    agreeing += count_agreeing(row, other, static_cast<std::size_t>(width));
  }
  const std::int64_t row_count = count / width;
  return static_cast<double>(agreeing) / static_cast<double>(row_count);
}

}  // namespace vernier
