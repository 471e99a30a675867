#include "vernier/analysis/evidence/joined_weights.h"

#include <algorithm>
#include <functional>

#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

Tensor transposed(const Tensor& matrix) { return permute_axes(matrix, std::vector{1, 0}); }

Tensor columns(const Tensor& matrix, std::int64_t first, std::int64_t count) {
  const std::int64_t rows = matrix.shape[0], width = matrix.shape[1];
  Tensor found = make_tensor("", DType::f32, {rows, count});
  const auto from = elements<float>(matrix.view());
  const auto to = elements<float>(found);
  for (std::int64_t row = 0; row < rows; ++row)
    std::ranges::copy(from.subspan(row * width + first, count), to.begin() + row * count);
  return found;
}

void set_columns(Tensor& matrix, std::int64_t first, const Tensor& part) {
  const std::int64_t width = matrix.shape[1], count = part.shape[1];
  const auto from = elements<float>(part.view());
  const auto to = elements<float>(matrix);
  for (std::int64_t row = 0; row < matrix.shape[0]; ++row)
    std::ranges::copy(from.subspan(row * count, count), to.begin() + row * width + first);
}

TensorView vector_view(std::span<const float> values, const Shape& shape) {
  return {"", DType::f32, shape, std::as_bytes(values)};
}

bool is_edge_alike(std::span<const float> expected, std::span<const float> found) {
  const Shape shape = {std::ssize(expected)};
  return sqnr_db(measure_noise(vector_view(expected, shape), vector_view(found, shape))) >=
         joined_row_db;
}

}  // namespace

std::optional<JoinedWeight> JoinedWeights::find(const ModelWeight& candidate, const Tensor& real,
                                                const std::unordered_set<std::size_t>& taken) {
  if (real.shape.size() != 2) return std::nullopt;
  if (candidate.output_axis.value_or(1) == 1)
    if (auto found = find_columns(real, taken)) return found;
  if (candidate.output_axis.value_or(0) != 0) return std::nullopt;
  auto found = find_columns(transposed(real), taken);
  if (found) found->weight = transposed(found->weight);
  return found;
}

std::optional<JoinedWeight> JoinedWeights::find_columns(const Tensor& whole,
                                                        std::unordered_set<std::size_t> taken) {
  JoinedWeight joined{.weight = make_tensor("", DType::f32, whole.shape)};
  for (std::int64_t offset = 0; offset < whole.shape[1];) {
    const auto part = part_at(whole, offset, taken);
    if (!part) return std::nullopt;
    set_columns(joined.weight, offset, part->matrix);
    joined.parts.push_back(part->reference);
    taken.insert(part->reference);
    offset += part->matrix.shape[1];
  }
  const auto input = [&](std::size_t part) { return references_[part].input; };
  if (joined.parts.size() < 2 || input(joined.parts.front()).empty() ||
      std::ranges::adjacent_find(joined.parts, std::not_equal_to{}, input) != joined.parts.end())
    return std::nullopt;
  return joined;
}

// The weight that is most like the columns from `offset` on.
std::optional<JoinedWeights::Part> JoinedWeights::part_at(
    const Tensor& whole, std::int64_t offset, const std::unordered_set<std::size_t>& taken) {
  std::optional<Part> best;
  double best_db = joined_weight_db;
  const auto first_row = elements<float>(whole.view()).subspan(offset, whole.shape[1] - offset);
  for (std::size_t i = 0; i < references_.size(); ++i) {
    const ModelWeight& reference = references_[i];
    if (taken.contains(i) || reference.shape.size() != 2) continue;
    for (const std::size_t output_axis : {1, 0}) {
      const std::int64_t count = reference.shape[output_axis];
      if (reference.output_axis.value_or(output_axis) != static_cast<int>(output_axis) ||
          reference.shape[1 - output_axis] != whole.shape[0] || count > std::ssize(first_row) ||
          !is_edge_alike(output_axis == 1 ? edges(i).row : edges(i).column, first_row.first(count)))
        continue;
      Tensor matrix = output_axis == 1 ? reference.read() : transposed(reference.read());
      const double found_db = sqnr_db(measure_noise(matrix, columns(whole, offset, count)));
      if (!(found_db > best_db)) continue;
      best_db = found_db;
      best = Part{i, std::move(matrix)};
    }
  }
  return best;
}

const JoinedWeights::Edges& JoinedWeights::edges(std::size_t reference) {
  const auto [entry, is_new] = edges_.try_emplace(reference);
  if (!is_new) return entry->second;
  const Tensor matrix = references_[reference].read();
  const auto values = elements<float>(matrix.view());
  const auto width = static_cast<std::size_t>(matrix.shape[1]);
  entry->second.row.assign(values.begin(), values.begin() + matrix.shape[1]);
  for (std::size_t i = 0; i < values.size(); i += width) entry->second.column.push_back(values[i]);
  return entry->second;
}

}  // namespace vernier
