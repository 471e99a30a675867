#include "vernier/metrics/embeddings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "vernier/error.h"
#include "vernier/metrics/parallel.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr double length_floor = 1e-9;
constexpr std::int64_t most_rows =
    1 << 29;  // a row's index must fit into the 29 bits of Candidate (neighbours.cpp)

void check(const TensorView& tensor) {
  const bool is_matrix = tensor.shape.size() == 2 && tensor.shape[1] > 0;
  if (!is_matrix || tensor.shape[0] > most_rows)
    throw Error(fmt::format("[knn] embeddings '{}' have shape {}, expected [samples,dims]",
                            tensor.name, format_shape(tensor.shape)));
}

// The sum of squares of each row. It is NaN or infinite only if an element is, since squares of
// float32 cannot overflow in float64.
std::vector<double> row_squares(std::span<const float> values, std::int64_t dims, int threads) {
  std::vector<double> squares(values.size() / dims);
  constexpr std::int64_t rows_per_task = 64;
  const auto rows = static_cast<std::int64_t>(squares.size());
  parallel_for((rows + rows_per_task - 1) / rows_per_task, threads, [&](std::int64_t task) {
    const std::int64_t end = std::min(rows, (task + 1) * rows_per_task);
    for (std::int64_t row = task * rows_per_task; row < end; ++row)
      squares[row] =
          exact_product(values.subspan(row * dims, dims), values.subspan(row * dims, dims));
  });
  return squares;
}

// Fills a few columns at a time, so that they stay in the L1 cache while the rows are written.
void fill_panel(const Embeddings& embeddings, std::int64_t panel, std::span<PanelColumn> columns) {
  constexpr std::size_t step = 64;
  const std::int64_t first = panel * panel_rows;
  const std::int64_t count = std::min<std::int64_t>(panel_rows, embeddings.rows() - first);
  if (count < panel_rows) std::ranges::fill(columns, PanelColumn{});
  for (std::size_t begin = 0; begin < columns.size(); begin += step) {
    const std::size_t end = std::min(columns.size(), begin + step);
    for (std::int64_t r = 0; r < count; ++r) {
      const std::span<const float> row = embeddings.row(first + r);
      const double scale = embeddings.scales[first + r];
      for (std::size_t d = begin; d < end; ++d)
        columns[d].values[r] = static_cast<float>(row[d] * scale);
    }
  }
}

void fill_panels(Embeddings& embeddings, int threads) {
  PanelMatrix& matrix = embeddings.unit_rows;
  matrix.rows = embeddings.rows();
  matrix.columns = std::make_unique_for_overwrite<PanelColumn[]>(matrix.panels() * matrix.dims);
  parallel_for(matrix.panels(), threads,
               [&](std::int64_t panel) { fill_panel(embeddings, panel, matrix.panel(panel)); });
}

}  // namespace

Embeddings prepare_embeddings(const TensorView& tensor, int threads) {
  check(tensor);
  Embeddings result{.source_rows = tensor.shape[0]};
  result.unit_rows.dims = tensor.shape[1];
  if (tensor.dtype == DType::f32)
    result.source = elements<float>(tensor);
  else
    result.converted = to_f32(tensor);

  const auto values = result.converted.empty() ? result.source : std::span(result.converted);
  const std::vector<double> squares = row_squares(values, tensor.shape[1], threads);
  for (std::int32_t row = 0; row < result.source_rows; ++row) {
    if (!std::isfinite(squares[row])) continue;
    result.row_numbers.push_back(row);
    result.scales.push_back(1 / std::max(std::sqrt(squares[row]), length_floor));
  }
  fill_panels(result, threads);
  return result;
}

RowSimilarity::RowSimilarity(const Embeddings& embeddings, std::int64_t row)
    : values_(hwy::AllocateAligned<double>(embeddings.dims())),
      dims_(embeddings.dims()),
      scale_(embeddings.scales[row]) {
  std::ranges::copy(embeddings.row(row), values_.get());
}

}  // namespace vernier
