#include "vernier/metrics/inner_products.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <random>

namespace vernier {
namespace {

// Every test here runs on every SIMD target this CPU has.
class InnerProducts : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

INSTANTIATE_TEST_SUITE_P(Targets, InnerProducts,
                         testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) { return hwy::TargetName(target.param); });

constexpr std::int64_t lengths[] = {1, 7, 8, 9, 31, 32, 33, 127, 128, 129, 768, 1000};

// A panel of rows of length 1, rounded to float32.
std::vector<PanelColumn> unit_panel(std::int64_t dims, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> values;
  std::vector<PanelColumn> panel(dims);
  for (int r = 0; r < panel_rows; ++r) {
    std::vector<double> row(dims);
    double squares = 0;
    for (double& value : row) squares += std::pow(value = values(engine), 2);
    for (std::int64_t d = 0; d < dims; ++d)
      panel[d].values[r] = static_cast<float>(row[d] / std::sqrt(squares));
  }
  return panel;
}

std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> values;
  std::vector<float> result(count);
  for (float& value : result) value = values(engine);
  return result;
}

double naive_product(const std::vector<PanelColumn>& rows, int r,
                     const std::vector<PanelColumn>& columns, int c) {
  double sum = 0;
  for (std::size_t d = 0; d < rows.size(); ++d)
    sum += static_cast<double>(rows[d].values[r]) * static_cast<double>(columns[d].values[c]);
  return sum;
}

TEST_P(InnerProducts, tiles_are_within_the_error_they_claim) {
  for (const std::int64_t dims : lengths) {
    const auto rows = unit_panel(dims, 1), columns = unit_panel(dims, 2);
    const ProductTile tile = panel_products(rows, columns);
    for (int r = 0; r < panel_rows; ++r)
      for (int c = 0; c < panel_rows; ++c)
        ASSERT_NEAR(tile.values[r][c], naive_product(rows, r, columns, c),
                    panel_product_error(dims))
            << dims << " dims, row " << r << ", column " << c;
  }
}

TEST_P(InnerProducts, a_tile_of_swapped_panels_is_its_transpose) {
  const auto rows = unit_panel(300, 1), columns = unit_panel(300, 2);
  const ProductTile tile = panel_products(rows, columns), swapped = panel_products(columns, rows);
  for (int r = 0; r < panel_rows; ++r)
    for (int c = 0; c < panel_rows; ++c) ASSERT_EQ(tile.values[r][c], swapped.values[c][r]);
}

TEST_P(InnerProducts, masks_have_a_bit_for_what_is_strictly_above) {
  ProductTile tile;
  tile.values[3][5] = 2;
  tile.values[3][31] = 1;
  tile.values[31][5] = 1.5;
  std::array<float, panel_rows> thresholds;
  thresholds.fill(1);
  TileMask expected{};
  expected[3] = 1u << 5;
  expected[31] = 1u << 5;
  EXPECT_EQ(above_row(tile, thresholds), expected);
  EXPECT_EQ(above_column(tile, thresholds), expected);

  thresholds[3] = 2;
  expected[3] = 0;
  EXPECT_EQ(above_row(tile, thresholds), expected);
  thresholds[3] = 1;
  thresholds[5] = 1.5;
  expected[3] = 1u << 5;
  expected[31] = 0;
  EXPECT_EQ(above_column(tile, thresholds), expected);
}

TEST_P(InnerProducts, nan_is_above_nothing) {
  ProductTile tile;
  tile.values[0].fill(std::nanf(""));
  std::array<float, panel_rows> thresholds;
  thresholds.fill(0);
  EXPECT_EQ(above_row(tile, thresholds), TileMask{});
}

// 32 running sums, added in a tree: what every target has to reproduce.
double summed_in_order(const std::vector<float>& left, const std::vector<float>& right) {
  double sums[32] = {};
  for (std::size_t i = 0; i < left.size(); ++i)
    sums[i % 32] += static_cast<double>(left[i]) * static_cast<double>(right[i]);
  for (int half = 16; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
  return sums[0];
}

TEST_P(InnerProducts, exact_products_have_the_same_bits_on_every_target) {
  for (const std::int64_t dims : lengths) {
    const auto left = random_floats(dims, 1), right = random_floats(dims, 2);
    const std::vector<double> widened(left.begin(), left.end());
    EXPECT_EQ(exact_product(left, right), summed_in_order(left, right)) << dims;
    EXPECT_EQ(exact_product(widened, right), summed_in_order(left, right)) << dims;
  }
}

TEST_P(InnerProducts, the_exact_product_of_nothing_is_zero) {
  EXPECT_EQ(exact_product(std::span<const float>{}, {}), 0);
}

}  // namespace
}  // namespace vernier
