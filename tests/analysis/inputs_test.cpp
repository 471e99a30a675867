#include "vernier/analysis/inputs.h"

#include <gtest/gtest.h>

#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

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
  for (const char* text : {"1x", "x3", "1,3", "a=-1"})
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

}  // namespace
}  // namespace vernier
