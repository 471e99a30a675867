#include "vernier/runtime/exact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

using testing::ElementsAre;

// What uint8 x int8 kernels without VNNI get wrong: 255 * 127 + 255 * 127 is more than 16 bits
// hold.
const Tensor activations = tensor_of<std::uint8_t>("x", DType::u8, {1, 4}, {255, 255, 255, 255});
const Tensor weights =
    tensor_of<std::int8_t>("w", DType::i8, {4, 2}, {127, -128, 127, -128, 127, -128, 127, -128});
constexpr std::int32_t high = 4 * 255 * 127, low = -4 * 255 * 128;

GraphBuilder products() {
  GraphBuilder builder;
  builder.input("x", DType::u8, {{1}, {4}}).weight(weights).output("y");
  return builder;
}

std::vector<std::int32_t> run_integers(const Model& model, const OrtOptions& options) {
  OrtRunner runner(model.clone(), options);
  const Tensor y = runner.run(std::vector{activations}, [](const TensorView&) {})[0];
  const auto values = elements<std::int32_t>(y.view());
  return {values.begin(), values.end()};
}

TEST(Exact, integer_products_do_not_saturate_on_any_cpu) {
  const Model model = products().node("MatMulInteger", {"x", "w"}, {"y"}).model();
  EXPECT_THAT(run_integers(model, {.exact = true}), ElementsAre(high, low));
  EXPECT_THAT(run_integers(model, {.watch = Watch::all(), .exact = true}), ElementsAre(high, low));
  EXPECT_THAT(run_integers(model, {.optimization = Optimization::disabled, .exact = true}),
              ElementsAre(high, low));
}

TEST(Exact, zero_points_of_weights_are_kept) {
  GraphBuilder builder = products();
  builder.weight(tensor_of<std::uint8_t>("xz", DType::u8, {}, {0}));
  builder.weight(tensor_of<std::int8_t>("wz", DType::i8, {}, {-1}));
  const Model model = builder.node("MatMulInteger", {"x", "w", "xz", "wz"}, {"y"}).model();
  EXPECT_THAT(run_integers(model, {.exact = true}), ElementsAre(high + 4 * 255, low + 4 * 255));
}

// ONNX Runtime's optimiser would make the weights uint8, for which there is no kernel then.
TEST(Exact, optimised_models_of_int8_activations_run) {
  GraphBuilder builder;
  builder.input("x", DType::i8, {{1}, {4}}).weight(weights).output("y");
  builder.weight(tensor_of<float>("one", DType::f32, {}, {1}));
  builder.weight(tensor_of<float>("step", DType::f32, {}, {1024}));
  builder.weight(tensor_of<std::int8_t>("zero", DType::i8, {}, {0}));
  builder.node("QLinearMatMul", {"x", "one", "zero", "w", "one", "zero", "step", "zero"}, {"y"});
  const Tensor x = tensor_of<std::int8_t>("x", DType::i8, {1, 4}, {127, 127, 127, 127});
  for (const auto level : {Optimization::all, Optimization::disabled}) {
    OrtRunner runner(builder.model(), {.optimization = level, .exact = true});
    const Tensor y = runner.run(std::vector{x})[0];
    EXPECT_THAT(elements<std::int8_t>(y.view()), ElementsAre(63, -64));  // 64516, -65024 / 1024
  }
}

TEST(Exact, a_weight_that_others_read_as_int8_stays_for_them) {
  GraphBuilder builder = products();
  builder.node("MatMulInteger", {"x", "w"}, {"y"});
  builder.node("Identity", {"w"}, {"same"}).output("same");
  Model model = builder.model();
  make_weights_unsigned(model);
  EXPECT_EQ(model.graph().initializer_size(), 3);
  OrtRunner runner(builder.model(), {.exact = true});
  EXPECT_EQ(runner.run(std::vector{activations})[1].bytes, weights.bytes);
}

TEST(Exact, int8_activations_keep_int8_weights) {
  GraphBuilder builder;
  builder.input("x", DType::i8, {{1}, {4}}).weight(weights).output("y");
  builder.weight(tensor_of<std::int8_t>("xz", DType::i8, {}, {0}));
  Model model = builder.node("MatMulInteger", {"x", "w", "xz"}, {"y"}).model();
  make_weights_unsigned(model);
  EXPECT_EQ(model.graph().node(0).input(1), "w");
}

// ONNX Runtime's optimiser writes QLinearConv with channels last, in a domain of its own.
TEST(Exact, convolutions_of_graphs_that_were_optimised_have_no_int8_weights_either) {
  Model model = optimize(Model::load(fixture("mnist/mnist_cnn.int8.onnx")), Optimization::all);
  make_weights_unsigned(model);
  int convolutions = 0;
  for (const auto& node : model.graph().node()) {
    if (node.op_type() != "QLinearConv") continue;
    ++convolutions;
    for (const auto& weight : model.graph().initializer())
      if (weight.name() == node.input(3)) {
        EXPECT_EQ(weight.data_type(), vernier_onnx::TensorProto::UINT8) << node.name();
      }
  }
  EXPECT_GT(convolutions, 0);
}

TEST(Exact, quantizers_in_pairs_are_told_from_those_around_integer_operators) {
  GraphBuilder operators;
  operators.input("x", DType::f32, {{4}}).weight(tensor_of<float>("s", DType::f32, {}, {0.5f}));
  operators.node("QuantizeLinear", {"x", "s"}, {"q"}).node("MaxPool", {"q"}, {"p"});
  operators.node("DequantizeLinear", {"p", "s"}, {"y"}).output("y");
  EXPECT_FALSE(has_dequantized_operands(operators.model()));
  operators.node("DequantizeLinear", {"q", "s"}, {"z"});
  EXPECT_TRUE(has_dequantized_operands(operators.model()));

  GraphBuilder weight_only;
  weight_only.weight(weights).weight(tensor_of<float>("s", DType::f32, {}, {0.5f}));
  weight_only.node("DequantizeLinear", {"w", "s"}, {"y"}).output("y");
  EXPECT_TRUE(has_dequantized_operands(weight_only.model()));
}

TEST(Exact, a_model_with_quantizers_is_run_as_it_is_written) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  OrtRunner written(model.clone(), {.optimization = Optimization::disabled});
  OrtRunner exact(model.clone(), {.optimization = Optimization::all, .exact = true});
  Tensor image = make_tensor("input", DType::f32, {1, 1, 28, 28});
  int number = 0;
  for (float& pixel : elements<float>(image)) pixel = static_cast<float>(++number % 17) / 16;
  EXPECT_EQ(exact.run(std::vector{image}), written.run(std::vector{image}));
}

}  // namespace
}  // namespace vernier
