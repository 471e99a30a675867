#include "vernier/analysis/pairing/by_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;

TEST(Likeness, needs_as_many_elements_and_at_least_two) {
  EXPECT_TRUE(may_be_alike(ramp("a", {2, 3}), ramp("b", {6})));
  EXPECT_FALSE(may_be_alike(ramp("a", {6}), ramp("b", {7})));
  EXPECT_FALSE(may_be_alike(ramp("a", {1}), ramp("b", {1})));
  EXPECT_FALSE(may_be_alike(ramp("a", {0}), ramp("b", {0})));
}

TEST(Likeness, tensors_of_one_value_tell_nothing) {
  const Tensor zeros = make_tensor("a", DType::f32, {100});
  EXPECT_FALSE(may_be_alike(zeros, zeros));
}

TEST(Likeness, large_tensors_are_first_looked_at_in_a_few_places) {
  Tensor other = ramp("b", {100, 100});
  for (float& element : elements<float>(other)) element = -element;
  EXPECT_TRUE(may_be_alike(ramp("a", {100, 100}), ramp("b", {100, 100})));
  EXPECT_FALSE(may_be_alike(ramp("a", {100, 100}), other));
}

TEST(Likeness, packed_elements_are_left_out) {
  EXPECT_FALSE(may_be_alike(make_tensor("a", DType::u4, {8}), ramp("b", {8})));
}

// The elements from `first` on of each row of ten.
Tensor columns(std::int64_t first, std::int64_t count, const Shape& shape) {
  Tensor part = make_tensor("part", DType::f32, shape);
  const Tensor whole = ramp("whole", {2, 10});
  for (std::int64_t i = 0; i < part.size(); ++i)
    elements<float>(part)[i] = elements<float>(whole)[i / count * 10 + first + i % count];
  return part;
}

TEST(Part, lies_along_one_axis) {
  EXPECT_TRUE(is_part_along_axis(columns(0, 4, {2, 4}), ramp("whole", {2, 10})));
  EXPECT_TRUE(is_part_along_axis(columns(5, 5, {2, 5}), ramp("whole", {2, 10})));
  EXPECT_TRUE(is_part_along_axis(columns(5, 5, {2, 5}), ramp("whole", {2, 2, 5})));
  EXPECT_TRUE(is_part_along_axis(ramp("part", {1, 10}), ramp("whole", {2, 10})));
  EXPECT_TRUE(is_part_along_axis(columns(2, 4, {2, 4, 1}), ramp("whole", {2, 10, 1})));
}

TEST(Part, has_the_same_values_in_the_same_order) {
  Tensor other = columns(3, 4, {2, 4});
  elements<float>(other)[7] += 0.001F;
  EXPECT_FALSE(is_part_along_axis(other, ramp("whole", {2, 10})));
  EXPECT_FALSE(is_part_along_axis(columns(3, 4, {4, 2}), ramp("whole", {2, 10})));
  EXPECT_FALSE(is_part_along_axis(ramp("part", {2, 10}), ramp("whole", {2, 10})));
  EXPECT_FALSE(is_part_along_axis(make_tensor("zeros", DType::f32, {2, 4}), ramp("w", {2, 10})));
}

const Placement nowhere;
const Placement fused{Match::fused, std::nullopt};

Placement by_scope(std::size_t tensor) { return {Match::scope, tensor}; }
Placement by_value(std::size_t tensor) { return {Match::value, tensor}; }
Placement elided(std::size_t tensor) { return {Match::elided, tensor}; }

const std::vector<Layer> conv_norm = {{.name = "conv", .type = "Conv2d"},
                                      {.name = "bn", .type = "BatchNorm2d"}};

std::vector<Placement> resolve(const std::vector<Layer>& layers,
                               const std::vector<Placement>& placements,
                               const std::vector<Likeness>& likenesses,
                               std::vector<CandidateTensor> tensors = {}) {
  if (tensors.empty()) tensors.resize(10);
  return resolve_by_value(layers, tensors, placements, likenesses);
}

// What is added to a large constant table is much like the table.
TEST(Resolve, a_tensor_of_another_module_must_be_the_same_and_not_only_alike) {
  const std::vector<Layer> table = {{.name = "table", .type = "Embedding"}};
  const std::vector<CandidateTensor> added = {
      {.name = "add", .layer = "block", .layer_is_metadata = true}};
  EXPECT_THAT(resolve(table, {nowhere}, {{{0, 0}, 40}}, added), ElementsAre(nowhere));
  EXPECT_THAT(resolve(table, {nowhere}, {{{0, 0}, 130}}, added), ElementsAre(by_value(0)));
  EXPECT_THAT(resolve(table, {nowhere}, {{{0, 0}, 40}}), ElementsAre(by_value(0)));
}

// ONNX Runtime's FusedGemm with a Tanh, of small numbers.
TEST(Resolve, what_a_fused_function_makes_of_a_layer_is_not_the_layer) {
  const std::vector<Layer> linear = {{.name = "dense", .type = "Linear"}};
  std::vector<CandidateTensor> tensors = {{.name = "tanh", .is_activated = true}};
  EXPECT_THAT(resolve(linear, {nowhere}, {{{0, 0}, 56}}, tensors), ElementsAre(nowhere));
  EXPECT_THAT(resolve(linear, {nowhere}, {{{0, 0}, 130}}, tensors), ElementsAre(by_value(0)));
  tensors[0].is_activated = false;
  EXPECT_THAT(resolve(linear, {nowhere}, {{{0, 0}, 56}}, tensors), ElementsAre(by_value(0)));
}

// Two projections of one input are somewhat alike; the first one's output, split into heads, is no
// output of the second.
TEST(Resolve, what_another_layer_wrote_in_another_shape_is_not_the_layer) {
  const std::vector<Layer> two = {{.name = "query", .type = "Linear"},
                                  {.name = "key", .type = "Linear"}};
  std::vector<CandidateTensor> tensors = {{.name = "query"},
                                          {.name = "heads", .inputs = {0}, .is_moved = true}};
  const std::vector<Likeness> likenesses = {{{0, 0}, 130}, {{1, 1}, 40}};
  EXPECT_THAT(resolve(two, {by_scope(0), nowhere}, likenesses, tensors),
              ElementsAre(by_scope(0), nowhere));
  tensors[1].is_moved = false;
  EXPECT_THAT(resolve(two, {by_scope(0), nowhere}, likenesses, tensors),
              ElementsAre(by_scope(0), by_value(1)));
}

TEST(Resolve, a_difference_that_leaves_no_trace_is_a_wrong_pair) {
  const std::vector<Layer> two = {{.name = "table", .type = "Embedding"},
                                  {.name = "norm", .type = "LayerNorm"}};
  const std::vector<CandidateTensor> tensors = {{.name = "add"}, {.name = "norm", .inputs = {0}}};
  EXPECT_THAT(resolve(two, {nowhere, nowhere}, {{{0, 0}, 40}, {{1, 1}, 130}}, tensors),
              ElementsAre(nowhere, by_value(1)));
  EXPECT_THAT(resolve(two, {nowhere, nowhere}, {{{0, 0}, 40}, {{1, 1}, 45}}, tensors),
              ElementsAre(by_value(0), by_value(1)));
}

TEST(Resolve, a_folded_batch_norm_takes_the_tensor_of_its_convolution) {
  EXPECT_THAT(resolve(conv_norm, {by_scope(0), nowhere}, {{{0, 0}, 4}, {{1, 0}, 130}}),
              ElementsAre(fused, by_value(0)));
}

TEST(Resolve, a_batch_norm_that_hardly_changes_anything_is_folded_too) {
  EXPECT_THAT(resolve(conv_norm, {by_scope(0), nowhere}, {{{0, 0}, 106}, {{1, 0}, 130}}),
              ElementsAre(fused, by_value(0)));
}

TEST(Resolve, a_convolution_that_agrees_better_keeps_its_tensor) {
  EXPECT_THAT(resolve(conv_norm, {by_scope(0), nowhere}, {{{0, 0}, 140}, {{1, 0}, 20}}),
              ElementsAre(by_scope(0), nowhere));
}

TEST(Resolve, a_folded_batch_norm_is_known_even_where_nothing_agrees_any_more) {
  EXPECT_THAT(resolve(conv_norm, {by_scope(0), nowhere}, {{{0, 0}, -3}, {{1, 0}, 2}}),
              ElementsAre(fused, by_value(0)));
  EXPECT_THAT(resolve(conv_norm, {by_scope(0), nowhere}, {{{0, 0}, 80}}),
              ElementsAre(by_scope(0), nowhere));
}

// A convolution with its batch norm folded in and an activation function fused.
TEST(Resolve, a_batch_norm_behind_which_a_function_was_fused_has_no_tensor) {
  const std::vector<CandidateTensor> tensors = {{.name = "conv", .is_activated = true}};
  EXPECT_THAT(resolve(conv_norm, {by_scope(0), nowhere}, {{{0, 0}, -3}, {{1, 0}, 2}}, tensors),
              ElementsAre(by_scope(0), nowhere));
}

TEST(Resolve, a_layer_that_hands_on_a_value_is_elided) {
  const std::vector<Layer> layers = {{.name = "relu", .type = "ReLU"},
                                     {.name = "drop", .type = "Dropout"},
                                     {.name = "again", .type = "ReLU"}};
  EXPECT_THAT(resolve(layers, {by_scope(0), nowhere, nowhere},
                      {{{0, 0}, 140}, {{1, 0}, 140}, {{2, 0}, 140}}),
              ElementsAre(by_scope(0), elided(0), elided(0)));
}

TEST(Resolve, a_dropout_behind_what_no_layer_owns_is_elided) {
  const std::vector<Layer> layers = {{.name = "drop", .type = "Dropout"}};
  EXPECT_THAT(resolve(layers, {nowhere}, {{{0, 3}, 140}}), ElementsAre(elided(3)));
}

TEST(Resolve, an_active_dropout_is_compared_with_what_it_was_given) {
  const std::vector<Layer> layers = {{.name = "relu"}, {.name = "drop", .type = "Dropout"}};
  EXPECT_THAT(resolve(layers, {by_scope(0), nowhere}, {{{0, 0}, 140}, {{1, 0}, 18}}),
              ElementsAre(by_scope(0), elided(0)));
}

TEST(Resolve, the_most_alike_tensor_wins_and_of_equals_the_one_of_the_same_shape) {
  const std::vector<Layer> layers = {{.name = "a"}, {.name = "b"}};
  EXPECT_THAT(resolve(layers, {nowhere, nowhere},
                      {{{0, 0}, 30}, {{0, 1}, 60}, {{1, 2}, 50, false}, {{1, 3}, 50, true}}),
              ElementsAre(by_value(1), by_value(3)));
}

TEST(Resolve, what_is_not_alike_stays_without_a_place) {
  EXPECT_THAT(resolve({{.name = "a"}}, {nowhere}, {{{0, 0}, 3}, {{0, 1}, NAN}}),
              ElementsAre(nowhere));
}

}  // namespace
}  // namespace vernier
