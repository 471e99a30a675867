#include "vernier/analysis/inputs/axis_sizes.h"

#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/analysis/inputs/inputs.h"

namespace vernier {
namespace {

using Shapes = std::map<std::string, Shape>;

const Dim batch{-1, "batch"}, sequence{-1, "sequence"};

std::vector<TensorSpec> tokens_and_mask() {
  return {{"ids", DType::i64, {batch, sequence}}, {"mask", DType::i64, {batch, sequence}}};
}

Shapes sized(const std::vector<TensorSpec>& inputs, const std::vector<InputKind>& kinds = {},
             const Shapes& given = {}, std::int64_t longest = 1 << 20) {
  const auto runs = [&](const Shapes& shapes) {
    for (const auto& [name, shape] : shapes)
      for (const std::int64_t size : shape)
        if (size > longest) return false;
    return true;
  };
  return open_shapes(inputs, kinds.empty() ? std::vector<InputKind>(inputs.size()) : kinds, given,
                     runs);
}

TEST(OpenShapes, a_sequence_has_several_tokens_and_a_batch_one_example) {
  EXPECT_EQ(sized(tokens_and_mask()), (Shapes{{"ids", {1, 16}}, {"mask", {1, 16}}}));
}

TEST(OpenShapes, what_does_not_run_is_tried_shorter) {
  EXPECT_EQ(sized(tokens_and_mask(), {}, {}, 8), (Shapes{{"ids", {1, 1}}, {"mask", {1, 1}}}));
}

TEST(OpenShapes, a_length_that_was_given_is_that_of_all_inputs_with_its_name) {
  EXPECT_EQ(sized(tokens_and_mask(), {}, {{"ids", {2, 5}}}), (Shapes{{"ids", {2, 5}}}));
  const std::vector<TensorSpec> unlike = {{"ids", DType::i64, {batch, sequence}},
                                          {"more", DType::f32, {batch, {-1, "n"}, sequence}}};
  EXPECT_EQ(sized(unlike, {}, {{"ids", {2, 5}}}), (Shapes{{"ids", {2, 5}}, {"more", {2, 16, 5}}}));
}

TEST(OpenShapes, where_nothing_is_open_nothing_is_tried) {
  const std::vector<TensorSpec> inputs = {{"x", DType::f32, {batch, {3}}}};
  const auto refuses = [](const Shapes&) -> bool { throw std::logic_error("was run"); };
  EXPECT_EQ(open_shapes(inputs, std::vector<InputKind>(1), {}, refuses), Shapes{});
}

TEST(OpenShapes, a_sum_of_axes_is_one) {
  const std::vector<TensorSpec> inputs = {{"past", DType::f32, {batch, {2}, {-1, "past"}, {4}}},
                                          {"ids", DType::i64, {batch, sequence}},
                                          {"mask", DType::i64, {batch, {-1, "past + sequence"}}}};
  EXPECT_EQ(sized(inputs).at("mask"), (Shape{1, 32}));
}

TEST(OpenShapes, an_expression_that_is_no_plain_sum_is_an_axis_of_its_own) {
  const std::vector<TensorSpec> inputs = {{"ids", DType::i64, {batch, sequence}},
                                          {"mask", DType::i64, {batch, {-1, "2*sequence + 1"}}}};
  EXPECT_EQ(sized(inputs).at("mask"), (Shape{1, 16}));
}

TEST(OpenShapes, pictures_and_sounds_are_as_large_as_real_ones) {
  const std::vector<TensorSpec> picture = {
      {"x", DType::f32, {batch, {3}, {-1, "height"}, {-1, "width"}}}};
  EXPECT_EQ(sized(picture, {{.role = InputRole::image}}).at("x"), (Shape{1, 3, 224, 224}));
  EXPECT_EQ(sized(picture, {{.role = InputRole::image}}, {}, 100).at("x"), (Shape{1, 3, 64, 64}));
  const std::vector<TensorSpec> sound = {{"x", DType::f32, {batch, {-1, "time"}}}};
  EXPECT_EQ(sized(sound, {{.role = InputRole::audio}}).at("x"), (Shape{1, 16000}));
}

TEST(OpenShapes, the_only_axis_of_an_input_is_no_batch) {
  EXPECT_EQ(sized({{"ids", DType::i64, {sequence}}}).at("ids"), (Shape{16}));
}

// Random inputs are as long as those that are made to fit.
TEST(OpenShapes, random_inputs_have_them_too) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {batch, sequence, {4}}).node("Neg", {"x"}, {"y"}).output("y");
  const Model model = builder.model();
  EXPECT_EQ(make_inputs(model, {}).samples->sample(0)[0].shape, (Shape{1, 16, 4}));
  EXPECT_EQ(make_inputs(model, {.shapes = {{"x", {1, 2, 4}}}}).samples->sample(0)[0].shape,
            (Shape{1, 2, 4}));
}

}  // namespace
}  // namespace vernier
