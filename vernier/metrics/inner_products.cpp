#include "vernier/metrics/inner_products.h"

#include <algorithm>

// The kernels keep arrays of vectors in registers, which needs vectors of a fixed size.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/metrics/inner_products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Highway includes this file once per target; these definitions are needed once.
#ifndef VERNIER_INNER_PRODUCTS_ONCE
#define VERNIER_INNER_PRODUCTS_ONCE
namespace vernier {
// The number of coordinates summed in one accumulator before it is added to the tile. A chunk of
// both panels fits into the L1 cache, and rounding errors grow with the chunk, not with the dims.
constexpr std::int64_t chunk_dims = 128;
constexpr int running_sums = 32;
}  // namespace vernier
#endif

HWY_BEFORE_NAMESPACE();
namespace vernier::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
constexpr int lanes = hn::MaxLanes(Floats());
// The accumulators are tile_rows x 2 vectors: 8 x 2 with 32 registers, 4 x 2 with 16.
constexpr int tile_rows = (HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64) ? 8 : 4;
constexpr int tile_columns = 2 * lanes;

// Adds `dims` coordinates of tile_rows x tile_columns products to the tile.
HWY_INLINE void add_products(const PanelColumn* HWY_RESTRICT rows, int row,
                             const PanelColumn* HWY_RESTRICT columns, int column, std::int64_t dims,
                             ProductTile& tile) {
  const Floats d;
  hn::Vec<Floats> left[tile_rows], right[tile_rows];
#pragma GCC unroll 8
  for (int r = 0; r < tile_rows; ++r) left[r] = right[r] = hn::Zero(d);
  for (std::int64_t k = 0; k < dims; ++k) {
    const auto column_left = hn::Load(d, &columns[k].values[column]);
    const auto column_right = hn::Load(d, &columns[k].values[column + lanes]);
#pragma GCC unroll 8
    for (int r = 0; r < tile_rows; ++r) {
      const auto value = hn::Set(d, rows[k].values[row + r]);
      left[r] = hn::MulAdd(value, column_left, left[r]);
      right[r] = hn::MulAdd(value, column_right, right[r]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < tile_rows; ++r) {
    float* out = &tile.values[row + r][column];
    hn::Store(hn::Add(hn::Load(d, out), left[r]), d, out);
    hn::Store(hn::Add(hn::Load(d, out + lanes), right[r]), d, out + lanes);
  }
}

ProductTile panel_products(const PanelColumn* rows, const PanelColumn* columns, std::int64_t dims) {
  ProductTile tile;
  for (std::int64_t begin = 0; begin < dims; begin += chunk_dims) {
    const std::int64_t count = std::min(chunk_dims, dims - begin);
    for (int row = 0; row < panel_rows; row += tile_rows)
      for (int column = 0; column < panel_rows; column += tile_columns)
        add_products(rows + begin, row, columns + begin, column, count, tile);
  }
  return tile;
}

// Bit i is set if lane i of `value` is above lane i of `threshold`.
HWY_INLINE std::uint32_t bits_above(hn::Vec<Floats> value, hn::Vec<Floats> threshold) {
  const Floats d;
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, hn::Gt(value, threshold), bytes);
  return bytes[0] | std::uint32_t{bytes[1]} << 8;
}

TileMask above_row(const ProductTile& tile, const float* thresholds) {
  const Floats d;
  TileMask mask{};
  for (int r = 0; r < panel_rows; ++r)
    for (int c = 0; c < panel_rows; c += lanes)
      mask[r] |= bits_above(hn::Load(d, &tile.values[r][c]), hn::Set(d, thresholds[r])) << c;
  return mask;
}

TileMask above_column(const ProductTile& tile, const float* thresholds) {
  const Floats d;
  TileMask mask{};
  for (int r = 0; r < panel_rows; ++r)
    for (int c = 0; c < panel_rows; c += lanes)
      mask[r] |= bits_above(hn::Load(d, &tile.values[r][c]), hn::LoadU(d, thresholds + c)) << c;
  return mask;
}

using Doubles = hn::CappedTag<double, 8>;

HWY_INLINE hn::Vec<Doubles> load_f64(const double* values) { return hn::LoadU(Doubles(), values); }
HWY_INLINE hn::Vec<Doubles> load_f64(const float* values) {
  return hn::PromoteTo(Doubles(), hn::LoadU(hn::Rebind<float, Doubles>(), values));
}

constexpr int sum_lanes = hn::MaxLanes(Doubles());
constexpr int sum_vectors = running_sums / sum_lanes;

// Adds 32 products to the running sums. A product of two float32 is exact in float64, so it does
// not matter whether the CPU fuses it.
template <typename T>
HWY_INLINE void add_terms(const T* left, const float* right,
                          hn::Vec<Doubles> (&sums)[sum_vectors]) {
#pragma GCC unroll 16
  for (std::ptrdiff_t v = 0; v < sum_vectors; ++v)
    sums[v] = hn::MulAdd(load_f64(left + v * sum_lanes), load_f64(right + v * sum_lanes), sums[v]);
}

// Adds sums i and i + 16, then i and i + 8 of the results, and so on.
HWY_INLINE double sum_in_a_tree(hn::Vec<Doubles> (&sums)[sum_vectors]) {
#pragma GCC unroll 16
  for (int half = sum_vectors / 2; half > 0; half /= 2)
#pragma GCC unroll 16
    for (int v = 0; v < half; ++v) sums[v] = hn::Add(sums[v], sums[v + half]);
  HWY_ALIGN double lanes_left[sum_lanes];
  hn::Store(sums[0], Doubles(), lanes_left);
  for (int half = sum_lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes_left[i] += lanes_left[i + half];
  return lanes_left[0];
}

// Running sum i takes the terms i, i + 32, i + 64, …; the last 32 are padded with zeros.
template <typename T>
HWY_INLINE double exact_product_of(const T* left, const float* right, std::int64_t dims) {
  hn::Vec<Doubles> sums[sum_vectors];
#pragma GCC unroll 16
  for (int v = 0; v < sum_vectors; ++v) sums[v] = hn::Zero(Doubles());
  std::int64_t k = 0;
  for (; k + running_sums <= dims; k += running_sums) add_terms(left + k, right + k, sums);
  if (k < dims) {
    T left_rest[running_sums] = {};
    float right_rest[running_sums] = {};
    std::copy(left + k, left + dims, left_rest);
    std::copy(right + k, right + dims, right_rest);
    add_terms(left_rest, right_rest, sums);
  }
  return sum_in_a_tree(sums);
}

double exact_product_f64(const double* left, const float* right, std::int64_t dims) {
  return exact_product_of(left, right, dims);
}
double exact_product_f32(const float* left, const float* right, std::int64_t dims) {
  return exact_product_of(left, right, dims);
}

}  // namespace vernier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier {

HWY_EXPORT(panel_products);
HWY_EXPORT(above_row);
HWY_EXPORT(above_column);
HWY_EXPORT(exact_product_f64);
HWY_EXPORT(exact_product_f32);

ProductTile panel_products(std::span<const PanelColumn> rows,
                           std::span<const PanelColumn> columns) {
  return HWY_DYNAMIC_DISPATCH(panel_products)(rows.data(), columns.data(),
                                              static_cast<std::int64_t>(rows.size()));
}

TileMask above_row(const ProductTile& tile, std::span<const float, panel_rows> row_thresholds) {
  return HWY_DYNAMIC_DISPATCH(above_row)(tile, row_thresholds.data());
}

TileMask above_column(const ProductTile& tile,
                      std::span<const float, panel_rows> column_thresholds) {
  return HWY_DYNAMIC_DISPATCH(above_column)(tile, column_thresholds.data());
}

double exact_product(std::span<const double> left, std::span<const float> right) {
  return HWY_DYNAMIC_DISPATCH(exact_product_f64)(left.data(), right.data(),
                                                 static_cast<std::int64_t>(left.size()));
}

double exact_product(std::span<const float> left, std::span<const float> right) {
  return HWY_DYNAMIC_DISPATCH(exact_product_f32)(left.data(), right.data(),
                                                 static_cast<std::int64_t>(left.size()));
}

// The error of a sum of n float32 products is at most n·u·Σ|xy| to first order (u = 2^-24), and
// Σ|xy| is at most 1. There are up to chunk_dims roundings within a chunk, one for each chunk, one
// in each factor, and one for the lengths. The factor 1.1 covers higher orders.
float panel_product_error(std::int64_t dims) {
  const std::int64_t chunks = (dims + chunk_dims - 1) / chunk_dims;
  const std::int64_t roundings = std::min(dims, chunk_dims) + chunks + 3;
  return 1.1f * 0x1p-24f * static_cast<float>(roundings);
}

}  // namespace vernier
#endif
