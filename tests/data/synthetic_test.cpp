#include "vernier/data/synthetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>

#include "vernier/data/synthetic_signals.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;

SyntheticInputs one_input(DType dtype, Shape shape, InputKind kind) {
  return {.draws = {{.name = "x", .dtype = dtype, .shape = std::move(shape)}},
          .kinds = {std::move(kind)}};
}

Tensor drawn(const SyntheticInputs& inputs, std::int64_t sample = 0,
             ImageFamily family = ImageFamily::octaves) {
  return draw_sample(inputs, sample, family).at(0);
}

std::uint64_t hash_of(const Tensor& tensor) {
  std::uint64_t hash = 14695981039346656037u;
  for (const std::byte byte : tensor.bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 1099511628211u;
  return hash;
}

double deviation(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

const SyntheticInputs picture =
    one_input(DType::f32, {1, 3, 32, 40}, {.role = InputRole::image, .range = Interval{-2, 3}});

TEST(Synthetic, sine_and_bump_are_those_of_the_c_library_almost) {
  for (double x = -3; x < 3; x += 0.01) {
    EXPECT_NEAR(sine(x), std::sin(2 * std::numbers::pi * x), 1e-9);
    EXPECT_NEAR(bump(x * 3), std::exp(-x * x * 4.5), 1e-9);
  }
  EXPECT_EQ(bump(1e200), 0);
}

TEST(Synthetic, the_same_key_gives_the_same_bytes_and_another_gives_others) {
  for (const ImageFamily family : image_families) {
    EXPECT_EQ(drawn(picture, 3, family), drawn(picture, 3, family)) << family_name(family);
    EXPECT_NE(drawn(picture, 3, family), drawn(picture, 4, family)) << family_name(family);
    SyntheticInputs other = picture;
    other.seed = 43;
    EXPECT_NE(drawn(picture, 3, family), drawn(other, 3, family)) << family_name(family);
  }
  EXPECT_NE(drawn(picture, 3, ImageFamily::blobs), drawn(picture, 3, ImageFamily::strokes));
}

TEST(Synthetic, images_fill_their_range_and_stay_inside) {
  for (const ImageFamily family : image_families)
    for (int sample = 0; sample < 4; ++sample) {
      const auto values = to_f64(drawn(picture, sample, family));
      EXPECT_THAT(values, Each(AllOf(Ge(-2), Le(3)))) << family_name(family);
      if (family != ImageFamily::gradient) {
        EXPECT_GT(deviation(values), 0.1) << family_name(family);
      }
    }
}

TEST(Synthetic, channels_may_come_last) {
  SyntheticInputs last = picture;
  last.draws[0].shape = {1, 32, 40, 3};
  last.kinds[0].channels_last = true;
  const auto first_values = to_f64(drawn(picture)), last_values = to_f64(drawn(last));
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < 32 * 40; ++i)
      ASSERT_EQ(first_values[c * 32 * 40 + i], last_values[i * 3 + c]);
}

TEST(Synthetic, images_of_bytes_are_whole_numbers_up_to_255) {
  const auto bytes =
      one_input(DType::u8, {2, 1, 28, 28}, {.role = InputRole::image, .range = Interval{0, 255}});
  const auto values = to_f64(drawn(bytes, 0, ImageFamily::strokes));
  EXPECT_EQ(*std::ranges::min_element(values), 0);
  EXPECT_GT(*std::ranges::max_element(values), 128);
}

TEST(Synthetic, pictures_of_any_size_are_drawn) {
  for (const ImageFamily family : image_families)
    for (const Shape& shape : {Shape{1, 1, 1, 1}, Shape{1, 4, 1, 7}, Shape{0, 3, 8, 8}})
      EXPECT_EQ(drawn(one_input(DType::f32, shape, {.role = InputRole::image}), 0, family).shape,
                shape);
}

TEST(Synthetic, children_are_inside_the_range_and_differ) {
  const auto first = draw_sample(picture, 0, ImageFamily::octaves);
  const auto second = draw_sample(picture, 1, ImageFamily::dead_leaves);
  std::set<std::uint64_t> children;
  for (int child = 0; child < 40; ++child) {
    const Tensor tensor = breed(picture, first, second, child).at(0);
    EXPECT_THAT(to_f64(tensor), Each(AllOf(Ge(-2.00001), Le(3.00001))));
    children.insert(hash_of(tensor));
  }
  EXPECT_GT(children.size(), 20u);  // a flip and a blur have no number to draw
}

TEST(Synthetic, what_is_no_image_is_the_first_parents) {
  const auto ids = one_input(DType::i64, {1, 9}, {.role = InputRole::ids, .range = Interval{0, 9}});
  const auto first = draw_sample(ids, 0, ImageFamily::blobs);
  const auto second = draw_sample(ids, 1, ImageFamily::blobs);
  EXPECT_EQ(breed(ids, first, second, 5), first);
}

TEST(Synthetic, a_voice_has_its_peak_and_pauses_and_no_sample_is_silent) {
  const auto audio = one_input(DType::f32, {1, 32000}, {.role = InputRole::audio});
  for (int sample = 0; sample < 5; ++sample) {
    const auto values = to_f64(drawn(audio, sample));
    const double peak = std::abs(
        *std::ranges::max_element(values, {}, [](double value) { return std::abs(value); }));
    EXPECT_GE(peak, 0.09);
    EXPECT_LE(peak, 0.72);
    const auto quiet = std::ranges::count_if(values, [](double v) { return std::abs(v) < 0.01; });
    EXPECT_GT(quiet, 1000);
    EXPECT_LT(quiet, 31000);
  }
  EXPECT_GT(
      deviation(to_f64(drawn(one_input(DType::f32, {1, 1, 512}, {.role = InputRole::audio})))),
      0.01);
}

TEST(Synthetic, ids_are_of_a_part_of_the_range_with_a_run_of_one_id) {
  const auto ids =
      one_input(DType::i32, {1, 2048}, {.role = InputRole::ids, .range = Interval{0, 256}});
  std::set<double> seen;
  std::set<double> widths;
  for (int sample = 0; sample < 50; ++sample) {
    const auto values = to_f64(drawn(ids, sample));
    EXPECT_THAT(values, Each(AllOf(Ge(0), Le(256))));
    widths.insert(*std::ranges::max_element(values) - *std::ranges::min_element(values));
    seen.insert(values.begin(), values.end());
    int run = 0, longest = 0;
    for (std::size_t i = 1; i < values.size(); ++i)
      longest = std::max(longest, run = values[i] == values[i - 1] ? run + 1 : 0);
    EXPECT_GE(longest, 200);
  }
  EXPECT_GT(seen.size(), 200u);
  EXPECT_GT(widths.size(), 20u);
}

TEST(Synthetic, choices_and_conditions_come_in_turn) {
  const auto rate =
      one_input(DType::i64, {}, {.role = InputRole::choices, .choices = {8000, 16000}});
  EXPECT_EQ(to_f64(drawn(rate, 0)), std::vector<double>{8000});
  EXPECT_EQ(to_f64(drawn(rate, 1)), std::vector<double>{16000});
  EXPECT_EQ(to_f64(drawn(rate, 2)), std::vector<double>{8000});
  const auto condition = one_input(DType::boolean, {1}, {.role = InputRole::condition});
  EXPECT_EQ(to_f64(drawn(condition, 0)), std::vector<double>{1});
  EXPECT_EQ(to_f64(drawn(condition, 1)), std::vector<double>{0});
}

TEST(Synthetic, masks_are_ones_states_zeros_and_positions_count) {
  EXPECT_THAT(to_f64(drawn(one_input(DType::i64, {2, 3}, {.role = InputRole::mask}))), Each(1));
  EXPECT_THAT(to_f64(drawn(one_input(DType::f32, {2, 3}, {.role = InputRole::state}))), Each(0));
  EXPECT_EQ(to_f64(drawn(one_input(DType::i64, {2, 3}, {.role = InputRole::positions}))),
            (std::vector<double>{0, 1, 2, 0, 1, 2}));
}

TEST(Synthetic, every_second_mask_ends_with_zeros_and_none_is_empty) {
  const auto mask = one_input(DType::boolean, {2, 4}, {.role = InputRole::mask});
  EXPECT_THAT(to_f64(drawn(mask, 0)), Each(1));
  EXPECT_EQ(to_f64(drawn(mask, 1)), (std::vector<double>{1, 1, 0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(to_f64(drawn(mask, 3)), (std::vector<double>{1, 1, 1, 0, 1, 1, 1, 0}));
  EXPECT_EQ(to_f64(drawn(mask, 5)), (std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0}));
  EXPECT_THAT(to_f64(drawn(one_input(DType::i64, {2, 1}, {.role = InputRole::mask}), 1)), Each(1));
}

TEST(Synthetic, padding_takes_up_to_most_of_a_row) {
  const auto mask = one_input(DType::i64, {1, 32}, {.role = InputRole::mask});
  std::vector<double> kept;
  for (std::int64_t i = 1; i < 12; i += 2) {
    const std::vector<double> row = to_f64(drawn(mask, i));
    kept.push_back(std::accumulate(row.begin(), row.end(), 0.0));
  }
  EXPECT_EQ(kept, (std::vector<double>{16, 24, 8, 28, 12, 20}));
}

TEST(Synthetic, a_length_is_that_of_the_other_inputs) {
  SyntheticInputs inputs = one_input(DType::i64, {1}, {.role = InputRole::length});
  inputs.draws.push_back({.name = "y", .dtype = DType::f32, .shape = {1, 77, 80}});
  inputs.kinds.push_back({});
  EXPECT_EQ(to_f64(drawn(inputs)), std::vector<double>{77});
}

TEST(Synthetic, features_have_their_means_and_deviations) {
  const auto table = one_input(DType::f32, {4000, 2}, {.means = {100, -5}, .deviations = {10, 0}});
  const auto values = to_f64(drawn(table));
  std::vector<double> first;
  for (std::size_t i = 0; i < values.size(); i += 2) {
    first.push_back(values[i]);
    ASSERT_EQ(values[i + 1], -5);
  }
  EXPECT_NEAR(deviation(first), 10, 0.5);
}

TEST(Synthetic, values_of_which_nothing_is_known_are_numpys) {
  const auto values = one_input(DType::f32, {1, 10}, {});
  EXPECT_EQ(drawn(values, 7), draw(values.draws[0], {42, 7, 0}));
}

}  // namespace
}  // namespace vernier
