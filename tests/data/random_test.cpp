#include "vernier/data/random.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/oracle/numpy.h"
#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const TensorSpec image = {"image", DType::f32, {{-1, "batch"}, {3, ""}, {-1, ""}}};
const TensorSpec ids = {"ids", DType::i64, {{-1, "batch"}, {8, ""}}};

InputDraw only_draw(const TensorSpec& input, const RandomOptions& options) {
  return plan_draws(std::vector{input}, options).at(0);
}

auto plan(const std::vector<TensorSpec>& inputs, const RandomOptions& options) {
  return [=] { plan_draws(inputs, options); };
}

const std::vector<DType> numpy_dtypes = {DType::f64, DType::f32, DType::f16, DType::i64,
                                         DType::i32, DType::i16, DType::i8,  DType::u64,
                                         DType::u32, DType::u16, DType::u8,  DType::boolean};

// The Python expression that evaluates to the same array, with numpy as np.
std::string numpy_expression(const InputDraw& input, const DrawKey& key) {
  const std::string shape =
      fmt::format("({}{})", fmt::join(input.shape, ", "), input.shape.size() == 1 ? "," : "");
  const DType drawn = is_float(input.dtype) ? DType::f32 : input.dtype;
  std::string text =
      fmt::format("np.random.default_rng([{}, {}, {}])", key.seed, key.sample, key.input);
  if (!is_float(drawn))
    text += fmt::format(".integers({}, {}, {}, dtype=np.{})", input.range.low, input.range.high,
                        shape, drawn == DType::boolean ? "bool_" : dtype_name(drawn));
  else if (input.distribution == Distribution::normal)
    text += fmt::format(".standard_normal({}, dtype=np.float32)", shape);
  else
    text += fmt::format(".random({}, dtype=np.float32)", shape);
  if (is_float(drawn) && input.distribution == Distribution::uniform &&
      input.range != DrawRange{0, 1})
    text = fmt::format("({} * np.float32({} - {}) + np.float32({}))", text, input.range.high,
                       input.range.low, input.range.low);
  if (drawn != input.dtype) text += fmt::format(".astype('{}')", dtype_name(input.dtype));
  return text;
}

TEST(Random, a_draw_is_what_its_numpy_expression_gives) {
  const auto python = oracle::python_with("numpy");
  if (!python) GTEST_SKIP() << "no Python with numpy 2.4";
  std::vector<std::string> expressions;
  std::vector<oracle::Bytes> ours;
  const auto claim = [&](const InputDraw& input, const DrawKey& key) {
    expressions.push_back(numpy_expression(input, key));
    ours.push_back(draw(input, key).bytes);
  };
  for (const DType dtype : numpy_dtypes) {
    const TensorSpec input = {"x", dtype, {{2, ""}, {-1, "n"}, {5, ""}}};
    for (const std::int64_t sample : {0, 1, 99}) {
      claim(only_draw(input, {}), {42, sample, 0});
      claim(only_draw(input, {.shapes = {{"x", {2, 7, 5}}}, .ranges = {{"x", {0, 1}}}}),
            {1ull << 40, sample, 3});
      if (is_integer(dtype)) claim(only_draw(input, {.ranges = {{"x", {3, 90}}}}), {7, sample, 1});
      if (is_float(dtype)) {
        claim(only_draw(input, {.ranges = {{"x", {-1.5, 0.1}}}}), {7, sample, 1});
        claim(only_draw(input, {.distribution = Distribution::normal}), {7, sample, 1});
      }
    }
  }
  claim(only_draw({"scalar", DType::f32, {}}, {}), {42, 0, 0});
  claim(only_draw({"vector", DType::i64, {{3, ""}}}, {}), {42, 0, 0});
  const auto expected = oracle::numpy_bytes(*python, expressions);
  for (std::size_t i = 0; i < expressions.size(); ++i)
    EXPECT_TRUE(ours[i] == expected[i]) << expressions[i];
}

TEST(Random, a_float_input_is_the_same_draw_in_every_precision) {
  const std::vector<Dim> shape = {{100, ""}};
  const Tensor single = draw(only_draw({"x", DType::f32, shape}, {}), {});
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16, DType::f8e4m3fn})
    EXPECT_EQ(draw(only_draw({"x", dtype, shape}, {}), {}), convert(single, dtype));
}

TEST(Random, four_bit_integers_are_drawn_as_eight_bit_ones) {
  const std::vector<Dim> shape = {{99, ""}};
  const RandomOptions options{.ranges = {{"x", {-8, 8}}}};
  EXPECT_EQ(draw(only_draw({"x", DType::i4, shape}, options), {}),
            convert(draw(only_draw({"x", DType::i8, shape}, options), {}), DType::i4));
}

TEST(Random, samples_and_inputs_differ_and_any_order_gives_the_same) {
  const std::vector<TensorSpec> inputs = {image, {"other", DType::f32, {{3, ""}}}};
  const auto samples = random_samples(inputs, {.samples = 3});
  EXPECT_EQ(samples->size(), 3);
  const auto last = samples->sample(2);
  const auto first = samples->sample(0);
  EXPECT_EQ(samples->sample(2), last);
  EXPECT_NE(first[0].bytes, last[0].bytes);
  EXPECT_NE(first[0].bytes, first[1].bytes);
  EXPECT_EQ(first[0].name, "image");
}

TEST(Random, integers_are_below_two_unless_they_are_indices) {
  EXPECT_EQ(only_draw(ids, {}).range, (DrawRange{0, 2}));
  EXPECT_EQ(only_draw(ids, {.index_lengths = {{"ids", 77}}}).range, (DrawRange{0, 77}));
  EXPECT_EQ(only_draw(ids, {.index_lengths = {{"ids", 0}}}).range, (DrawRange{0, 2}));
  EXPECT_EQ(only_draw({"ids", DType::i8, {}}, {.index_lengths = {{"ids", 1000}}}).range,
            (DrawRange{0, 128}));
  EXPECT_EQ(only_draw(ids, {.ranges = {{"ids", {5, 6}}}, .index_lengths = {{"ids", 77}}}).range,
            (DrawRange{5, 6}));
}

TEST(Random, dynamic_dims_are_one_unless_a_shape_names_them) {
  const std::vector<TensorSpec> inputs = {image, ids};
  EXPECT_EQ(plan_draws(inputs, {})[0].shape, (Shape{1, 3, 1}));
  const auto draws = plan_draws(inputs, {.shapes = {{"image", {4, 3, 9}}}});
  EXPECT_EQ(draws[0].shape, (Shape{4, 3, 9}));
  EXPECT_EQ(draws[1].shape, (Shape{4, 8})) << "batch follows the other input";
}

TEST(Random, a_dim_that_is_a_sum_of_others_fits_them) {
  const std::vector<TensorSpec> inputs = {{"ids", DType::i64, {{1, ""}, {-1, "length"}}},
                                          {"mask", DType::i64, {{1, ""}, {-1, "past + length"}}},
                                          {"past", DType::f32, {{1, ""}, {-1, "past"}}},
                                          {"next", DType::f32, {{1, ""}, {-1, "past+1"}}}};
  EXPECT_EQ(plan_draws(inputs, {})[1].shape, (Shape{1, 2}));
  const auto draws = plan_draws(inputs, {.shapes = {{"ids", {1, 16}}, {"past", {1, 0}}}});
  EXPECT_EQ(draws[1].shape, (Shape{1, 16}));
  EXPECT_EQ(draws[3].shape, (Shape{1, 1}));
}

TEST(RandomErrors, a_shape_that_does_not_fit_says_what_would) {
  EXPECT_THAT(plan({image}, {.shapes = {{"image", {1, 4, 9}}}}),
              ThrowsMessage<Error>(HasSubstr("[inputs] 'image': shape [1,4,9] was asked for, model "
                                             "expects [batch,3,?]; pass --shape image=1x3x1")));
  EXPECT_THAT(plan({image}, {.shapes = {{"image", {1, 3}}}}),
              ThrowsMessage<Error>(HasSubstr("[1,3]")));
  EXPECT_THAT(plan({image}, {.shapes = {{"image", {1, 3, -2}}}}),
              ThrowsMessage<Error>(HasSubstr("[1,3,-2]")));
}

TEST(RandomErrors, an_input_of_unknown_rank_needs_a_shape) {
  const TensorSpec unranked = {.name = "x", .ranked = false};
  EXPECT_THAT(plan({unranked}, {}), ThrowsMessage<Error>(HasSubstr("pass it, as in --shape x=")));
  EXPECT_EQ(plan_draws(std::vector{unranked}, {.shapes = {{"x", {2, 3}}}})[0].shape, (Shape{2, 3}));
}

TEST(RandomErrors, an_unknown_input_is_named_with_the_known_ones) {
  EXPECT_THAT(plan({image, ids}, {.shapes = {{"img", {1}}}}),
              ThrowsMessage<Error>(HasSubstr(
                  "--shape: the model has no input 'img'; its inputs are 'image', 'ids'")));
  EXPECT_THAT(plan({image}, {.ranges = {{"img", {0, 1}}}}),
              ThrowsMessage<Error>(HasSubstr("--input-range: the model has no input 'img'")));
}

TEST(RandomErrors, ranges_that_do_not_fit_the_dtype_are_refused) {
  const TensorSpec byte = {"b", DType::u8, {}};
  for (const DrawRange range : {DrawRange{0, 257}, {-1, 5}, {0.5, 3}, {3, 3}, {5, 3}, {0, 1e300}})
    EXPECT_THAT(plan({byte}, {.ranges = {{"b", range}}}),
                ThrowsMessage<Error>(HasSubstr("is not one of uint8")));
  const TensorSpec half = {"h", DType::f16, {}};
  for (const DrawRange range : {DrawRange{0, 1e6}, {2, 1}, {0, NAN}, {-INFINITY, 0}})
    EXPECT_THAT(plan({half}, {.ranges = {{"h", range}}}),
                ThrowsMessage<Error>(HasSubstr("is not one of float16")));
}

TEST(RandomErrors, a_normal_distribution_has_no_range) {
  EXPECT_THAT(plan({image}, {.ranges = {{"image", {0, 2}}}, .distribution = Distribution::normal}),
              ThrowsMessage<Error>(HasSubstr("normal distribution has no range")));
  EXPECT_NO_THROW(plan_draws(std::vector{ids},
                             {.ranges = {{"ids", {0, 9}}}, .distribution = Distribution::normal}));
}

TEST(RandomErrors, a_shape_beyond_memory_is_refused_before_it_is_made) {
  EXPECT_THAT(plan({image}, {.shapes = {{"image", {1 << 20, 3, 1 << 20}}}}),
              ThrowsMessage<Error>(HasSubstr("larger than the 16 GiB")));
  EXPECT_THROW(plan_draws(std::vector{image}, {.shapes = {{"image", {1ll << 40, 3, 1ll << 40}}}}),
               Error);
}

}  // namespace
}  // namespace vernier
