#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace vernier {

inline constexpr int panel_rows = 32;

// One coordinate of the 32 rows of a panel.
struct alignas(64) PanelColumn {
  std::array<float, panel_rows> values;
};

// A float32 matrix laid out for products of rows with rows: panels of 32 rows, each stored column
// by column. The last panel is padded with zero rows.
struct PanelMatrix {
  std::int64_t rows = 0, dims = 0;
  std::unique_ptr<PanelColumn[]> columns;  // panels() x dims

  std::int64_t panels() const { return (rows + panel_rows - 1) / panel_rows; }
  std::span<PanelColumn> panel(std::int64_t index) const {
    return {columns.get() + index * dims, static_cast<std::size_t>(dims)};
  }
};

// values[r][c] is the product of row r of one panel and row c of the other.
struct alignas(64) ProductTile {
  std::array<std::array<float, panel_rows>, panel_rows> values{};
};

// The 32 x 32 inner products of two panels over the same dims. The order of summation is fixed, so
// a product does not depend on its place in the matrix or on the thread.
ProductTile panel_products(std::span<const PanelColumn> rows, std::span<const PanelColumn> columns);

// The largest possible difference between a value of panel_products() and the cosine similarity of
// two rows, if the panels hold the rows scaled to length 1 and rounded to float32.
float panel_product_error(std::int64_t dims);

// For each row of a tile, the columns (bit c for column c) whose product is above the threshold of
// the row, or of the column.
using TileMask = std::array<std::uint32_t, panel_rows>;
TileMask above_row(const ProductTile& tile, std::span<const float, panel_rows> row_thresholds);
TileMask above_column(const ProductTile& tile,
                      std::span<const float, panel_rows> column_thresholds);

// The inner product of rows of equal length in float64, summed in the same order on every CPU.
// Fastest if `left` is aligned to 64 bytes.
double exact_product(std::span<const double> left, std::span<const float> right);
double exact_product(std::span<const float> left, std::span<const float> right);

}  // namespace vernier
