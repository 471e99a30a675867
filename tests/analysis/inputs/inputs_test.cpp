#include "vernier/analysis/inputs/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"
#include "vernier/report/warning.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::vector<TensorSpec> one_input = {{"image", DType::f32, {Dim{2}, Dim{3}}}};
const std::vector<TensorSpec> two_inputs = {{"a", DType::f32, {Dim{2}}},
                                            {"b", DType::f32, {Dim{2}}}};

TEST(Inputs, samples_are_a_number_or_all) {
  EXPECT_EQ(parse_samples("8"), 8);
  EXPECT_EQ(parse_samples("all"), all_samples);
  for (const char* text : {"0", "-1", "eight", "8x", ""})
    EXPECT_THROW(parse_samples(text), Error) << text;
}

TEST(Inputs, a_shape_is_for_the_input_before_the_last_equals_sign) {
  EXPECT_EQ(parse_input_shape("1x3x224"), std::pair(std::string(), Shape({1, 3, 224})));
  EXPECT_EQ(parse_input_shape("ids=1x128"), std::pair(std::string("ids"), Shape({1, 128})));
  EXPECT_EQ(parse_input_shape("a=b=7"), std::pair(std::string("a=b"), Shape({7})));
  EXPECT_EQ(parse_input_shape("scalar="), std::pair(std::string("scalar"), Shape()));
  for (const char* text : {"1x", "x3", "1,3", "a=-1", "0x1", "a=1x0"})
    EXPECT_THROW(parse_input_shape(text), Error) << text;
}

TEST(Inputs, a_range_has_two_ends) {
  EXPECT_EQ(parse_input_range("image=0:255"), std::pair(std::string("image"), DrawRange({0, 255})));
  EXPECT_EQ(parse_input_range("-1:1"), std::pair(std::string(), DrawRange({-1, 1})));
  for (const char* text : {"1", "a:b", "1:", ":"}) EXPECT_THROW(parse_input_range(text), Error);
}

TEST(Inputs, a_range_without_a_name_is_for_the_only_input) {
  InputSpec spec;
  spec.ranges[""] = {5, 6};
  const Inputs inputs = make_inputs({.inputs = one_input}, spec);
  ASSERT_EQ(inputs.samples->size(), 1);
  for (const double value : to_f64(inputs.samples->sample(0)[0])) {
    EXPECT_GE(value, 5);
    EXPECT_LE(value, 6);
  }
  EXPECT_EQ(inputs.description, "random uniform, seed 42");
  EXPECT_THROW(make_inputs({.inputs = two_inputs}, spec), Error);
}

TEST(Inputs, the_default_distribution_gives_way_to_a_range_and_to_what_is_asked) {
  InputSpec spec{.default_distribution = Distribution::normal};
  const auto description = [&] { return make_inputs({.inputs = one_input}, spec).description; };
  EXPECT_EQ(description(), "random normal, seed 42");
  spec.ranges["image"] = {0, 1};
  EXPECT_EQ(description(), "random uniform, seed 42");
  spec.distribution = Distribution::normal;
  EXPECT_THROW(description(), Error);  // a normal distribution has no range
}

TEST(Inputs, one_sample_of_random_ones_is_the_same_as_among_many) {
  InputSpec many{.samples = 5}, one;
  one.sample_index = 3;
  const Inputs all = make_inputs({.inputs = one_input}, many);
  const Inputs single = make_inputs({.inputs = one_input}, one);
  ASSERT_EQ(single.samples->size(), 1);
  EXPECT_EQ(single.samples->number(0), 3);
  EXPECT_EQ(single.samples->sample(0)[0].bytes, all.samples->sample(3)[0].bytes);
}

TEST(Inputs, random_inputs_have_no_end) {
  EXPECT_THROW(make_inputs({.inputs = one_input}, {.samples = all_samples}), Error);
}

TEST(Inputs, a_spec_that_says_nothing_is_the_default) {
  EXPECT_TRUE(InputSpec{}.is_default());
  EXPECT_TRUE(InputSpec{.default_samples = 100}.is_default());
  EXPECT_FALSE(InputSpec{.samples = 1}.is_default());
  EXPECT_FALSE(InputSpec{.seed = 1}.is_default());
}

TEST(Inputs, a_constant_takes_the_place_of_what_is_drawn_and_leaves_the_rest_as_it_was) {
  const Inputs drawn = make_inputs({.inputs = two_inputs}, {});
  const Inputs set = make_inputs({.inputs = two_inputs, .io = {.constants = {{"a", {7}}}}}, {});
  EXPECT_THAT(to_f64(set.samples->sample(0)[0]), ElementsAre(7, 7));
  EXPECT_EQ(set.samples->sample(0)[1], drawn.samples->sample(0)[1]);
}

TEST(Inputs, a_file_need_not_hold_what_is_constant) {
  const TemporaryDirectory folder;
  const std::vector<TensorSpec> inputs = {{"mask", DType::i64, {Dim{-1, "n"}, Dim{-1, "length"}}},
                                          {"ids", DType::f32, {Dim{-1, "n"}, Dim{-1, "length"}}}};
  const InputSpec spec{.data = write_npz(folder / "a.npz", {ramp("ids", {2, 5})})};
  const Inputs made = make_inputs({.inputs = inputs, .io = {.constants = {{"mask", {1}}}}}, spec);
  const std::vector<Tensor> sample = made.samples->sample(1);
  EXPECT_EQ(sample[0].name, "mask");
  EXPECT_EQ(sample[0].shape, (Shape{1, 5}));
  EXPECT_EQ(sample[1], ramp("ids", {1, 5}, 5));
  EXPECT_THROW(make_inputs({.inputs = inputs}, spec), Error);
}

TEST(Inputs, a_file_may_have_the_names_of_the_reference) {
  const TemporaryDirectory folder;
  const std::vector<TensorSpec> candidate = {{"img", DType::f32, {Dim{-1, "n"}, Dim{5}}}};
  const std::vector<TensorSpec> reference = {{"x", DType::f32, {Dim{-1, "n"}, Dim{5}}}};
  const InputSpec spec{.data = write_npz(folder / "a.npz", {ramp("x", {2, 5})})};
  const Inputs made = make_inputs({.inputs = candidate, .reference = reference}, spec);
  EXPECT_EQ(made.samples->sample(1)[0], ramp("img", {1, 5}, 5));
  EXPECT_THROW(make_inputs({.inputs = candidate}, spec), Error);
}

TEST(Inputs, a_sequence_takes_as_many_runs_as_it_has_steps) {
  const TemporaryDirectory folder;
  const std::vector<TensorSpec> inputs = {{"x", DType::f32, {Dim{-1, ""}, Dim{2}}},
                                          {"state", DType::f32, {Dim{1}}}};
  InputSpec spec{.data = write_npz(folder / "a.npz", {ramp("x", {7, 2})})};
  const InputTarget target{.inputs = inputs, .io = {.feedback = {{"next", "state"}}, .steps = 3}};
  const Inputs all = make_inputs(target, spec);
  EXPECT_EQ(all.samples->size(), 6);
  EXPECT_THAT(warning_texts(all.warnings),
              ElementsAre(HasSubstr("the last 1 of 7 runs do not fill a sequence")));
  EXPECT_EQ(all.samples->sample(0)[1], ramp("state", {1}));
  spec.sample_index = 1;
  const Inputs second = make_inputs(target, spec);
  EXPECT_EQ(second.samples->size(), 3);
  EXPECT_EQ(second.samples->number(0), 3);
  EXPECT_EQ(second.samples->sample(0)[0], ramp("x", {1, 2}, 6));
  spec.sample_index = 2;
  EXPECT_THAT([&] { make_inputs(target, spec); },
              ThrowsMessage<Error>(HasSubstr("sequences of 3 steps")));
  EXPECT_EQ(make_inputs(target, {.samples = 4}).samples->size(), 12);
}

TEST(Inputs, state_in_the_file_is_where_a_sequence_begins) {
  const TemporaryDirectory folder;
  const std::vector<TensorSpec> inputs = {{"x", DType::f32, {Dim{-1, ""}}},
                                          {"state", DType::f32, {Dim{-1, ""}}}};
  const InputSpec spec{.data =
                           write_npz(folder / "a.npz", {ramp("x", {4}), ramp("state", {4}, 9)})};
  const Inputs made =
      make_inputs({.inputs = inputs, .io = {.feedback = {{"next", "state"}}, .steps = 2}}, spec);
  EXPECT_EQ(made.samples->sample(2)[1], ramp("state", {1}, 11));
}

TEST(Inputs, the_reference_says_how_large_dynamic_axes_are) {
  const std::vector<TensorSpec> dynamic = {{"x", DType::f32, {Dim{-1, "n"}, Dim{-1, "m"}}}};
  const std::vector<TensorSpec> sized = {{"x", DType::f32, {Dim{2}, Dim{-1, "m"}}}};
  const InputTarget target{.inputs = dynamic, .reference = sized};
  EXPECT_EQ(make_inputs(target, {}).samples->sample(0)[0].shape, (Shape{2, 1}));
  EXPECT_THAT(
      [&] {
        make_inputs(target, {.shapes = {{"x", {3, 4}}}});
      },
      ThrowsMessage<Error>(HasSubstr("model expects [2,m]; pass --shape x=2x1")));
}

}  // namespace
}  // namespace vernier
