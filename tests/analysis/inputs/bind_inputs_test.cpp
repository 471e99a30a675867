#include "vernier/analysis/inputs/bind_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "vernier/error.h"
#include "vernier/report/warning.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

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

TEST(BindInputs, what_names_leave_is_bound_by_position_with_a_warning) {
  const std::vector sources = {spec("a", DType::f32, {1}), spec("x", DType::f32, {-1, 2}),
                               spec("ids", DType::i64, {1})};
  const std::vector targets = {spec("y", DType::f16, {4, 2}), spec("tokens", DType::i32, {1}),
                               spec("a", DType::f32, {1})};
  const InputBindings bindings = bind_inputs(sources, targets);
  EXPECT_EQ(bindings.inputs[0].source, 1);
  EXPECT_EQ(bindings.inputs[1].source, 2);
  EXPECT_EQ(bindings.inputs[2].source, 0);
  EXPECT_THAT(warning_texts(bindings.warnings),
              ElementsAre(HasSubstr("confirm with --map-input y=x"),
                          HasSubstr("confirm with --map-input tokens=ids")));
}

TEST(BindInputs, positions_never_bind_what_does_not_agree) {
  const std::vector sources = {spec("a", DType::f32, {1, 4})};
  for (const TensorSpec& target :
       {spec("b", DType::i64, {1, 4}), spec("b", DType::f32, {1, 5}),
        spec("b", DType::boolean, {1, 4}), spec("b", DType::f32, {2, 1, 4})})
    EXPECT_THAT([&] { bind_inputs(sources, std::vector{target}); },
                ThrowsMessage<Error>(HasSubstr("'b' has no counterpart")));
}

TEST(BindInputs, an_input_without_counterpart_is_an_error_with_the_remedies) {
  const std::vector sources = {spec("a", DType::f32, {1})};
  const std::vector targets = {spec("a", DType::f32, {1}), spec("mask", DType::i64, {1})};
  EXPECT_THAT([&] { bind_inputs(sources, targets); },
              ThrowsMessage<Error>(HasSubstr("the candidate takes a, the reference a, mask; pass "
                                             "--map-input mask=NAME or --set mask=VALUE")));
}

TEST(BindInputs, a_mapping_goes_before_names) {
  const std::vector sources = {spec("a", DType::f32, {1}), spec("b", DType::f32, {1})};
  const IoMapping swapped{.inputs = {{"a", "b"}, {"b", "a"}}};
  const InputBindings bindings = bind_inputs(sources, sources, swapped);
  EXPECT_EQ(bindings.inputs[0].source, 1);
  EXPECT_EQ(bindings.inputs[1].source, 0);
  EXPECT_THAT(warning_texts(bindings.warnings), IsEmpty());
}

TEST(BindInputs, a_mapping_of_unknown_names_is_an_error) {
  const std::vector sources = {spec("input", DType::f32, {1})};
  const std::vector targets = {spec("x", DType::f32, {1})};
  const auto binding = [&](const IoMapping& io) {
    return [&sources, &targets, io] { bind_inputs(sources, targets, io); };
  };
  EXPECT_THAT(binding({.inputs = {{"y", "input"}}}),
              ThrowsMessage<Error>(HasSubstr("no input 'y' in the reference; there are x")));
  EXPECT_THAT(binding({.inputs = {{"x", "inputs"}}}),
              ThrowsMessage<Error>(HasSubstr("in the candidate; there are input; did you mean "
                                             "input?")));
  EXPECT_THAT(binding({.constants = {{"sr", {1}}}}),
              ThrowsMessage<Error>(HasSubstr("--set: there is no input 'sr' in either model")));
}

TEST(BindInputs, a_constant_feeds_an_input_that_only_the_reference_has) {
  const std::vector sources = {TensorSpec{"x", DType::f32, {Dim{-1, "batch"}}}};
  const std::vector targets = {TensorSpec{"x", DType::f32, {Dim{-1, "batch"}}},
                               TensorSpec{"mask", DType::i64, {Dim{-1, "batch"}, Dim{1}}}};
  const InputBindings bindings = bind_inputs(sources, targets, {.constants = {{"mask", {1}}}});
  const auto inputs = apply_bindings(bindings, targets, std::vector{ramp("x", {3})});
  EXPECT_EQ(inputs[1].dtype, DType::i64);
  EXPECT_EQ(inputs[1].shape, (Shape{3, 1}));
  EXPECT_THAT(to_f64(inputs[1]), ElementsAre(1, 1, 1));
}

TEST(BindInputs, an_input_that_only_the_candidate_has_is_warned_of_unless_it_is_set) {
  const std::vector sources = {spec("x", DType::f32, {1}), spec("sr", DType::i64, {})};
  const std::vector targets = {spec("x", DType::f32, {1})};
  EXPECT_THAT(warning_texts(bind_inputs(sources, targets).warnings),
              ElementsAre(HasSubstr("input 'sr' is only in the candidate")));
  EXPECT_THAT(warning_texts(bind_inputs(sources, targets, {.constants = {{"sr", {1}}}}).warnings),
              IsEmpty());
  EXPECT_THAT(warning_texts(bind_inputs(sources, {}).warnings),
              IsEmpty());  // recorded: nothing is known
}

TEST(BindInputs, axes_of_size_one_are_added_and_removed) {
  const std::vector image = {spec("x", DType::f32, {3, 4, 5})};
  const std::vector batch = {spec("x", DType::f32, {1, 3, 4, 5})};
  const std::vector dynamic = {spec("x", DType::f32, {-1, 3, -1, 5, 1})};
  const auto bound = [](const auto& sources, const auto& targets, const Shape& shape) {
    const InputBindings bindings = bind_inputs(sources, targets);
    EXPECT_THAT(warning_texts(bindings.warnings), ElementsAre(HasSubstr("axes of size 1 are")));
    return apply_bindings(bindings, targets, std::vector{ramp("x", shape)})[0];
  };
  EXPECT_EQ(bound(image, batch, {3, 4, 5}), ramp("x", {1, 3, 4, 5}));
  EXPECT_EQ(bound(batch, image, {1, 3, 4, 5}), ramp("x", {3, 4, 5}));
  EXPECT_EQ(bound(image, dynamic, {3, 4, 5}), ramp("x", {1, 3, 4, 5, 1}));
  EXPECT_EQ(bound(dynamic, image, {1, 3, 4, 5, 1}), ramp("x", {3, 4, 5}));
  EXPECT_EQ(
      bound(std::vector{spec("x", DType::f32, {1})}, std::vector{spec("x", DType::f32, {})}, {1}),
      ramp("x", {}));
  EXPECT_THAT(
      [&] {
        bound(dynamic, image, {2, 3, 4, 5, 1});
      },
      ThrowsMessage<Error>(HasSubstr("cannot be squeezed")));
}

TEST(BindInputs, integers_stay_integers_where_torchscript_does_not_say) {
  const std::vector sources = {spec("ids", DType::i64, {1, 4}), spec("x", DType::f16, {1})};
  const std::vector targets = {TensorSpec{.name = "ids", .ranked = false},
                               TensorSpec{.name = "x", .ranked = false}};
  const InputBindings bindings = bind_inputs(sources, targets);
  EXPECT_EQ(bindings.inputs[0].dtype, DType::i64);
  EXPECT_EQ(bindings.inputs[1].dtype, DType::f32);
}

TEST(BindInputs, sizes_that_only_the_reference_says_are_taken_from_it) {
  const std::vector sources = {spec("x", DType::f32, {-1, -1, -1, 3}), spec("y", DType::f32, {-1}),
                               spec("z", DType::f32, {-1})};
  const std::vector targets = {spec("x", DType::f32, {2, 3, 8, 9}), spec("y", DType::f32, {1, 7}),
                               spec("z", DType::f32, {-1})};
  const auto shapes = [&] {
    std::vector<std::string> texts;
    for (const TensorSpec& known :
         with_static_dims(sources, targets, bind_inputs(sources, targets)))
      texts.push_back(format_shape(known.shape));
    return texts;
  };
  EXPECT_THAT(shapes(), ElementsAre("[2,8,9,3]", "[7]", "[?]"));
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
