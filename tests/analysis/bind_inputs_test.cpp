#include "vernier/analysis/bind_inputs.h"

#include <gtest/gtest.h>

#include "vernier/error.h"

namespace vernier {
namespace {

TensorSpec spec(std::string name, DType dtype, Shape shape) {
  TensorSpec result{std::move(name), dtype, {}};
  for (const std::int64_t dim : shape) result.shape.push_back({dim, ""});
  return result;
}

TEST(BindInputs, names_decide_the_order) {
  const std::vector sources = {spec("a", DType::f32, {1}), spec("b", DType::i64, {1})};
  const std::vector targets = {spec("b", DType::i64, {1}), spec("a", DType::f32, {1})};
  const InputBindings bindings = bind_inputs(sources, targets);
  EXPECT_EQ(bindings.inputs[0].source, 1);
  EXPECT_EQ(bindings.inputs[1].source, 0);
  EXPECT_TRUE(bindings.warnings.empty());
}

TEST(BindInputs, positions_decide_when_no_name_is_shared) {
  const std::vector sources = {spec("a", DType::f32, {1})};
  const std::vector targets = {spec("input_0", DType::f32, {1})};
  EXPECT_EQ(bind_inputs(sources, targets).inputs[0].source, 0);
}

TEST(BindInputs, an_input_without_counterpart_is_an_error) {
  const std::vector sources = {spec("a", DType::f32, {1})};
  const std::vector targets = {spec("a", DType::f32, {1}), spec("mask", DType::i64, {1})};
  EXPECT_THROW(bind_inputs(sources, targets), Error);
}

TEST(BindInputs, values_are_converted_to_the_dtype_of_the_target) {
  const std::vector sources = {spec("a", DType::f16, {1})};
  const std::vector targets = {spec("a", DType::f32, {1})};
  Tensor half = make_tensor("a", DType::f16, {1});
  elements<std::uint16_t>(half)[0] = 0x3e00;
  const auto inputs = apply_bindings(bind_inputs(sources, targets), targets, std::vector{half});
  EXPECT_EQ(inputs[0].dtype, DType::f32);
  EXPECT_EQ(elements<float>(inputs[0].view())[0], 1.5F);
}

TEST(BindInputs, an_image_is_permuted_when_only_the_layout_differs) {
  const std::vector sources = {spec("a", DType::f32, {-1, 8, 8, 3})};
  const std::vector targets = {spec("a", DType::f32, {1, 3, 8, 8})};
  const InputBindings bindings = bind_inputs(sources, targets);
  EXPECT_EQ(bindings.inputs[0].permutation, (std::vector{0, 3, 1, 2}));
  EXPECT_EQ(bindings.warnings.size(), 1u);
  const auto inputs =
      apply_bindings(bindings, targets, std::vector{make_tensor("a", DType::f32, {1, 8, 8, 3})});
  EXPECT_EQ(inputs[0].shape, (Shape{1, 3, 8, 8}));
}

TEST(BindInputs, an_image_that_fits_is_left_alone) {
  const std::vector sources = {spec("a", DType::f32, {1, 3, 3, 3})};
  EXPECT_TRUE(bind_inputs(sources, sources).inputs[0].permutation.empty());
}

}  // namespace
}  // namespace vernier
