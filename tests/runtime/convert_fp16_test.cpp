#include "vernier/model/convert_fp16.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"
#include "vernier/error.h"
#include "vernier/metrics/similarity.h"
#include "vernier/runtime/ort_runner.h"

// Conversion is a matter of model/, but only a runtime can tell whether its result holds.
namespace vernier {
namespace {

Tensor floats(const std::string& name, Shape shape, const std::vector<float>& values) {
  return tensor_of(name, DType::f32, std::move(shape), values);
}

const Tensor input = floats("x", {4}, {0.5F, -1.25F, 2, 3});

GraphBuilder with_input() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4, ""}});
  return builder;
}

std::vector<Tensor> run(Model model, std::vector<Tensor> inputs = {input}) {
  return OrtRunner(std::move(model)).run(inputs);
}

// Runs the model before and after; every output must agree to float16's precision.
Fp16Result expect_same_function(const Model& model, const Fp16Options& options = {}) {
  Fp16Result result = convert_to_fp16(model, options);
  const std::vector<Tensor> reference = run(model.clone());
  const std::vector<Tensor> candidate = run(result.model.clone());
  EXPECT_EQ(reference.size(), candidate.size());
  for (std::size_t i = 0; i < reference.size(); ++i) {
    EXPECT_EQ(reference[i].name, candidate[i].name);
    EXPECT_EQ(reference[i].dtype, candidate[i].dtype) << reference[i].name;
    EXPECT_GT(similarity(reference[i], candidate[i]).sqnr_db, 50) << reference[i].name;
  }
  return result;
}

DType weight_type(const Model& model, const std::string& name) {
  for (const auto& tensor : model.graph().initializer())
    if (tensor.name() == name) return *dtype_of_onnx(tensor.data_type());
  throw std::runtime_error("no weight " + name);
}

// As PyTorch exports the scale of an attention: x * sqrt(cast(1 / sqrt(x))).
TEST(ConvertFp16, a_cast_of_float_to_itself_is_none) {
  const Model model = with_input()
                          .weight(floats("one", {}, {1}))
                          .node("Abs", {"x"}, {"a"})
                          .node("Sqrt", {"a"}, {"b"})
                          .node("Div", {"one", "b"}, {"c"})
                          .node("Cast", {"c"}, {"d"}, {int_attribute("to", 1)})
                          .node("Sqrt", {"d"}, {"e"})
                          .node("Sqrt", {"d"}, {"f"})
                          .node("Mul", {"e", "f"}, {"y"})
                          .output("y", DType::f32, {{4, ""}})
                          .model();
  const Fp16Result result = expect_same_function(model);
  for (const auto& node : result.model.graph().node())
    EXPECT_FALSE(node.op_type() == "Cast" && node.output(0) == "d");
}

TEST(ConvertFp16, a_gelu_stays_in_float32) {
  GraphBuilder builder = with_input();
  builder.weight(floats("w", {4}, {1, 2, 3, 4}))
      .node("Mul", {"x", "w"}, {"m"})
      .node("Gelu", {"m"}, {"y"})
      .output("y", DType::f32, {{4, ""}});
  Model model = builder.model();
  model.proto().mutable_opset_import(0)->set_version(20);
  expect_same_function(model);
}

TEST(ConvertFp16, weights_become_half_and_inputs_and_outputs_stay) {
  const Model model = with_input()
                          .weight(floats("w", {4}, {1, 2, 3, 4}))
                          .node("Mul", {"x", "w"}, {"y"})
                          .output("y", DType::f32, {{4, ""}})
                          .model();
  const Fp16Result result = expect_same_function(model);
  EXPECT_EQ(weight_type(result.model, "w"), DType::f16);
  EXPECT_EQ(result.converted_nodes, 1);
  EXPECT_EQ(result.converted_weights, 1);
  EXPECT_EQ(result.casts, 2);
}

TEST(ConvertFp16, inputs_and_outputs_become_half_on_request) {
  const Model model =
      with_input().node("Relu", {"x"}, {"y"}).output("y", DType::f32, {{4, ""}}).model();
  const Fp16Result result = convert_to_fp16(model, {.fp16_io = true});
  EXPECT_EQ(result.model.inputs()[0].dtype, DType::f16);
  EXPECT_EQ(result.model.outputs()[0].dtype, DType::f16);
  EXPECT_EQ(result.casts, 0);
}

TEST(ConvertFp16, an_output_that_is_also_read_inside_keeps_its_name) {
  expect_same_function(with_input()
                           .node("Relu", {"x"}, {"y"})
                           .node("Neg", {"y"}, {"z"})
                           .output("y", DType::f32, {{4, ""}})
                           .output("z", DType::f32, {{4, ""}})
                           .model());
}

TEST(ConvertFp16, an_output_read_inside_a_subgraph_is_renamed_there_too) {
  GraphBuilder subgraph("body");
  subgraph.node("Neg", {"y"}, {"inner"}).output("inner", DType::f32, {{4, ""}});
  const Tensor yes = tensor_of<std::uint8_t>("yes", DType::boolean, {}, {1});
  expect_same_function(with_input()
                           .weight(yes)
                           .node("Relu", {"x"}, {"y"})
                           .node("If", {"yes"}, {"z"},
                                 {graph_attribute("then_branch", subgraph),
                                  graph_attribute("else_branch", subgraph)})
                           .output("y", DType::f32, {{4, ""}})
                           .output("z", DType::f32, {{4, ""}})
                           .model());
}

TEST(ConvertFp16, constants_and_casts_follow) {
  const auto value = tensor_attribute("value", floats("", {4}, {1, 2, 3, 4}));
  const auto to_float = int_attribute("to", onnx_data_type(DType::f32));
  const auto to_int = int_attribute("to", onnx_data_type(DType::i32));
  vernier_onnx::AttributeProto plain;
  plain.set_name("value_float");
  plain.set_type(vernier_onnx::AttributeProto::FLOAT);
  plain.set_f(0.5F);
  const Fp16Result result = expect_same_function(with_input()
                                                     .node("Constant", {}, {"c"}, {value})
                                                     .node("Constant", {}, {"d"}, {plain})
                                                     .node("Cast", {"x"}, {"i"}, {to_int})
                                                     .node("Cast", {"i"}, {"f"}, {to_float})
                                                     .node("Mul", {"f", "c"}, {"m"})
                                                     .node("Add", {"m", "d"}, {"y"})
                                                     .output("y", DType::f32, {{4, ""}})
                                                     .model());
  EXPECT_EQ(result.casts, 2);
}

TEST(ConvertFp16, loop_subgraphs_carry_half) {
  GraphBuilder subgraph("body");
  subgraph.input("i", DType::i64, {})
      .input("go", DType::boolean, {})
      .input("state", DType::f32, {{4, ""}})
      .weight(floats("step", {4}, {0.5F, 0.5F, 0.5F, 0.5F}))
      .node("Identity", {"go"}, {"go_on"})
      .node("Add", {"state", "step"}, {"next"})
      .node("ReduceSum", {"next"}, {"sum"}, {int_attribute("keepdims", 0)})
      .output("go_on", DType::boolean, {})
      .output("next", DType::f32, {{4, ""}})
      .output("sum", DType::f32, {});
  const Fp16Result result =
      expect_same_function(with_input()
                               .weight(tensor_of<std::int64_t>("trips", DType::i64, {}, {3}))
                               .weight(tensor_of<std::uint8_t>("yes", DType::boolean, {}, {1}))
                               .node("Loop", {"trips", "yes", "x"}, {"last", "sums"},
                                     {graph_attribute("body", subgraph)})
                               .output("last", DType::f32, {{4, ""}})
                               .output("sums", DType::f32, {{3, ""}})
                               .model());
  EXPECT_EQ(result.kept_nodes, 1);  // ReduceSum
}

TEST(ConvertFp16, default_operators_are_kept_and_may_be_converted) {
  const GraphBuilder builder = with_input()
                                   .node("Softmax", {"x"}, {"y"})
                                   .node("Neg", {"y"}, {"z"})
                                   .output("z", DType::f32, {{4, ""}});
  EXPECT_EQ(expect_same_function(builder.model()).kept_nodes, 1);
  EXPECT_EQ(expect_same_function(builder.model(), {.keep_default_ops = false}).kept_nodes, 0);
}

TEST(ConvertFp16, nodes_tensors_and_operators_are_kept_on_request) {
  const Model model = with_input()
                          .weight(floats("w", {4}, {1, 2, 3, 4}))
                          .node("Mul", {"x", "w"}, {"y"})
                          .node("Neg", {"y"}, {"z"})
                          .output("z", DType::f32, {{4, ""}})
                          .model();
  EXPECT_EQ(expect_same_function(model, {.keep_ops = {"Neg"}}).kept_nodes, 1);
  EXPECT_EQ(expect_same_function(model, {.keep_nodes = {"*_1"}}).kept_nodes, 1);
  EXPECT_EQ(expect_same_function(model, {.keep_tensors = {"y"}}).kept_nodes, 1);
  const Fp16Result by_weight = expect_same_function(model, {.keep_tensors = {"w"}});
  EXPECT_EQ(weight_type(by_weight.model, "w"), DType::f32);
}

TEST(ConvertFp16, a_weight_read_in_both_precisions_is_there_in_both) {
  const Model model = with_input()
                          .weight(floats("w", {4}, {1, 2, 3, 1e-7F}))
                          .node("Mul", {"x", "w"}, {"a"})
                          .node("Pow", {"x", "w"}, {"b"})
                          .output("a", DType::f32, {{4, ""}})
                          .output("b", DType::f32, {{4, ""}})
                          .model();
  const Fp16Result result = convert_to_fp16(model);
  EXPECT_EQ(weight_type(result.model, "w"), DType::f16);
  EXPECT_EQ(weight_type(result.model, "w_fp32"), DType::f32);
  EXPECT_NO_THROW(run(result.model.clone()));
}

TEST(ConvertFp16, values_that_do_not_fit_are_clamped_and_counted) {
  const Model model = with_input()
                          .weight(floats("w", {4}, {1e6F, -1e-9F, 0, -INFINITY}))
                          .node("Add", {"x", "w"}, {"y"})
                          .output("y", DType::f32, {{4, ""}})
                          .model();
  const Fp16Result result = convert_to_fp16(model);
  EXPECT_THAT(result.clamped, testing::ElementsAre(ClampedWeight{"w", 4, 1, 1}));
  for (const auto& tensor : result.model.graph().initializer()) {
    const Tensor weight = result.model.tensor(tensor);
    EXPECT_THAT(elements<std::uint16_t>(weight.view()),
                testing::ElementsAre(0x7bff, 0x8001, 0, 0xfc00));
  }
}

TEST(ConvertFp16, resize_keeps_its_scales_in_single) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {1, ""}, {2, ""}, {2, ""}})
      .weight(floats("scales", {4}, {1, 1, 2, 2}))
      .node("Resize", {"x", "", "scales"}, {"y"})
      .output("y", DType::f32, {{1, ""}, {1, ""}, {4, ""}, {4, ""}});
  const Fp16Result result = convert_to_fp16(builder.model());
  EXPECT_EQ(weight_type(result.model, "scales"), DType::f32);
  EXPECT_NO_THROW(run(result.model.clone(), {floats("x", {1, 1, 2, 2}, {1, 2, 3, 4})}));
}

TEST(ConvertFp16, operators_of_other_domains_stay_in_single) {
  const Fp16Result result =
      expect_same_function(with_input()
                               .node("Relu", {"x"}, {"r"})
                               .node("Gelu", {"r"}, {"y"}, {}, "com.microsoft")
                               .output("y", DType::f32, {{4, ""}})
                               .model());
  EXPECT_EQ(result.kept_nodes, 1);
}

TEST(ConvertFp16, what_names_nothing_or_has_nothing_to_convert_is_an_error) {
  const Model model =
      with_input().node("Relu", {"x"}, {"y"}).output("y", DType::f32, {{4, ""}}).model();
  EXPECT_THROW(convert_to_fp16(model, {.keep_nodes = {"typo"}}), Error);
  EXPECT_THROW(convert_to_fp16(model, {.keep_ops = {"Typo"}}), Error);
  EXPECT_THROW(convert_to_fp16(model, {.keep_tensors = {"typo"}}), Error);
  const Model half = convert_to_fp16(model, {.fp16_io = true}).model;
  EXPECT_THROW(convert_to_fp16(half), Error);
}

}  // namespace
}  // namespace vernier
