#include "vernier/analysis/compare/arithmetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "tests/onnx_edits.h"
#include "vernier/data/npz_batches.h"
#include "vernier/data/random.h"
#include "vernier/model/index.h"
#include "vernier/runtime/exact.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

std::vector<Tensor> digit(const Model& model) {
  return npz_batches(fixture("mnist/mnist_inputs.npz"), model.inputs()).samples->sample(0);
}

std::optional<ArithmeticLoss> loss_of(const Model& quantized, const Model& real,
                                      const std::vector<std::vector<Tensor>>& inputs) {
  std::vector<ExactSample> samples;
  for (const std::vector<Tensor>& each : inputs)
    samples.push_back({each, OrtRunner(real.clone()).run(each),
                       OrtRunner(quantized.clone(), {.exact = true}).run(each)});
  const OrtOptions runtime;
  const ModelIndex quantized_index(quantized), real_index(real);
  return measure_arithmetic_loss({quantized_index, &real_index, runtime}, samples);
}

TEST(Arithmetic, the_first_operator_that_differs_is_named) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.float.onnx"));
  Model other = model.clone();
  const std::string name = "/layer1/layer1.0/conv2/Conv";
  edit_weight(other, node(other, name).input(1), [](std::span<float> weight) { weight[0] += 1; });
  const auto found = inexact_operators(ModelIndex(other), ModelIndex(model), {}, digit(model));
  ASSERT_EQ(found.size(), 1u);  // those behind it compute the same from exact inputs
  EXPECT_EQ(found[0].node, name);
  EXPECT_EQ(found[0].op, "Conv");
  EXPECT_GT(found[0].sqnr_db, -20);
  EXPECT_LT(found[0].sqnr_db, 78);
  EXPECT_THAT(inexact_operators(ModelIndex(model), ModelIndex(model), {}, digit(model)),
              testing::IsEmpty());
}

TEST(Arithmetic, a_tensor_that_should_be_zero_hides_no_other_operator) {
  const auto products = [](float first, float second) {
    return GraphBuilder()
        .input("x", DType::f32, {{4}})
        .weight(tensor_of<float>("v", DType::f32, {}, {first}))
        .weight(tensor_of<float>("w", DType::f32, {}, {second}))
        .node("Mul", {"x", "v"}, {"a"})
        .node("Mul", {"x", "w"}, {"b"})
        .output("a")
        .output("b")
        .model();
  };
  const std::vector<Tensor> inputs = {tensor_of<float>("x", DType::f32, {4}, {1, 2, 3, 4})};
  const auto found =
      inexact_operators(ModelIndex(products(1, 1.5F)), ModelIndex(products(0, 1)), {}, inputs);
  const auto names = [](const char* name) { return testing::Field(&InexactOperator::node, name); };
  EXPECT_THAT(found, testing::UnorderedElementsAre(names("node_1"), names("node_2")));
}

TEST(Arithmetic, a_loss_is_of_the_kernels_if_exact_ones_give_it_back_or_it_is_small) {
  using Kind = RuntimeRemedy::Kind;
  EXPECT_FALSE(is_noticeable_loss(std::nullopt));
  EXPECT_FALSE(is_noticeable_loss(0.5));
  EXPECT_TRUE(is_noticeable_loss(0.6));
  const auto with = [](Kind kind) { return ArithmeticLoss{.remedy = RuntimeRemedy{kind}}; };
  EXPECT_TRUE(is_of_kernels(0.5, std::nullopt));
  EXPECT_FALSE(is_of_kernels(6, std::nullopt));
  EXPECT_TRUE(is_of_kernels(6, with(Kind::x64_precision)));
  EXPECT_FALSE(is_of_kernels(6, with(Kind::basic_level)));
}

// How much is lost depends on the CPU; that all of it is told does not.
TEST(Arithmetic, a_noticeable_loss_comes_with_its_remedy_and_its_operator) {
  const Model real = Model::load(fixture("mnist/mnist_cnn.float.onnx"));
  const Model quantized = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  const std::vector<Tensor> inputs = digit(quantized);
  const auto loss = loss_of(quantized, real, {inputs});
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->output, "logits");
  EXPECT_GT(loss->exact_db, 20);
  EXPECT_EQ(is_noticeable_loss(loss->db()), loss->precise_db.has_value());
  EXPECT_EQ(is_noticeable_loss(loss->db()), loss->first_operator.has_value());
  if (!loss->precise_db) return;  // this CPU does not saturate
  EXPECT_GT(*loss->precise_db, loss->as_run_db + noticeable_db);
  EXPECT_THAT(loss->first_operator->op, testing::StartsWith("Q"));
}

std::vector<std::vector<Tensor>> noise(const Model& model, std::int64_t count) {
  const auto samples = random_samples(model.inputs(), {.samples = count});
  std::vector<std::vector<Tensor>> inputs;
  for (std::int64_t i = 0; i < count; ++i) inputs.push_back(samples->sample(i));
  return inputs;
}

// A Softmax in front of a mean, which takes away what rounding does: x -> s -> p -> y.
Model mean_of_softmax(bool quantized) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {256}, {4}}).output("y");
  builder.weight(tensor_of<float>("x_scale", DType::f32, {}, {1.0F / 128}));
  builder.weight(tensor_of<float>("p_scale", DType::f32, {}, {1.0F / 255}));
  builder.weight(tensor_of<std::uint8_t>("zero", DType::u8, {}, {0}));
  builder.weight(tensor_of<std::int64_t>("rows", DType::i64, {1}, {1}));
  const auto pair = [&](const std::string& tensor, const std::string& scale) {
    if (!quantized) return tensor;
    builder.node("QuantizeLinear", {tensor, scale, "zero"}, {tensor + "_q"});
    builder.node("DequantizeLinear", {tensor + "_q", scale, "zero"}, {tensor + "_d"});
    return tensor + "_d";
  };
  builder.node("Softmax", {pair("x", "x_scale")}, {"p"});
  return builder.node("ReduceMean", {pair("p", "p_scale"), "rows"}, {"y"}).model(18);
}

// ONNX Runtime multiplies by the integer part of 1 / scale: 254 in the place of 255, on every CPU.
TEST(Arithmetic, a_softmax_that_is_computed_in_integers_is_named_and_best_kept_in_float) {
  const Model quantized = mean_of_softmax(true), real = mean_of_softmax(false);
  const auto loss = loss_of(quantized, real, noise(quantized, 2));
  ASSERT_TRUE(loss);
  EXPECT_GT(loss->db(), 5);
  ASSERT_TRUE(loss->first_operator);
  EXPECT_EQ(loss->first_operator->node, "node_3");
  EXPECT_EQ(loss->first_operator->op, "QLinearSoftmax");
  ASSERT_TRUE(loss->remedy);
  EXPECT_EQ(loss->remedy->kind, RuntimeRemedy::Kind::keep_in_float);
  EXPECT_THAT(loss->remedy->nodes, testing::ElementsAre("node_3"));
  EXPECT_GT(loss->remedy->sqnr_db, loss->as_run_db + loss->db() / 2);
  EXPECT_FALSE(gives_back(loss->db(), loss->regained_db()));
}

TEST(Arithmetic, a_run_whose_output_cannot_be_compared_is_no_remedy) {
  const ModelIndex quantized(mean_of_softmax(true)), real(mean_of_softmax(false));
  const OrtOptions runtime;
  ArithmeticLoss loss{.output = "y", .exact_db = 40, .as_run_db = 30};
  explain_loss(loss, {quantized, &real, runtime}, noise(quantized.model(), 1)[0],
               [](const Model&, const OrtOptions&) { return NAN; });
  EXPECT_EQ(loss.precise_db, std::nullopt);
  EXPECT_EQ(loss.remedy, std::nullopt);
}

TEST(Arithmetic, without_the_float_model_no_integers_are_the_remedy) {
  const Model quantized = mean_of_softmax(true), real = mean_of_softmax(false);
  const std::vector<Tensor> inputs = noise(quantized, 1)[0];
  const ExactSample sample{inputs, OrtRunner(real.clone()).run(inputs),
                           OrtRunner(quantized.clone(), {.exact = true}).run(inputs)};
  const OrtOptions runtime;
  const auto loss = measure_arithmetic_loss({ModelIndex(quantized), nullptr, runtime}, {sample});
  ASSERT_TRUE(loss && loss->remedy);
  EXPECT_EQ(loss->remedy->kind, RuntimeRemedy::Kind::no_integers);
  EXPECT_NEAR(loss->remedy->sqnr_db, loss->exact_db, 0.5);
}

std::vector<float> weights(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * 37 % 255) - 127;
  return values;
}

// 64 x 32 weights of 8 bits, one scale a column, that are exact in float: only activations round.
Model product_of_stored(bool quantized) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {4}, {64}}).output("y");
  const std::vector<float> values = weights(64 * 32);
  if (!quantized) {
    builder.weight(tensor_of("w", DType::f32, {64, 32}, values));
    return builder.node("MatMul", {"x", "w"}, {"y"}).model();
  }
  builder.weight(tensor_of("w_q", DType::i8, {64, 32},
                           std::vector<std::int8_t>(values.begin(), values.end())));
  builder.weight(tensor_of("scale", DType::f32, {32}, std::vector<float>(32, 1)));
  builder.weight(tensor_of("zero", DType::i8, {32}, std::vector<std::int8_t>(32, 0)));
  builder.node("DequantizeLinear", {"w_q", "scale", "zero"}, {"w"}, {int_attribute("axis", 1)});
  return builder.node("MatMul", {"x", "w"}, {"y"}).model();
}

// The same file beside a float model with one weight that is not exact, so that decibels are
// finite. Whether activations are rounded depends on the CPU's kernels.
void expect_remedy(const Model& quantized, Model real, RuntimeRemedy::Kind kind) {
  edit_weight(real, "w", [](std::span<float> weight) { weight[0] += 0.1F; });
  const auto loss = loss_of(quantized, real, noise(quantized, 2));
  ASSERT_TRUE(loss);
  if (!is_noticeable_loss(loss->db())) return;
  ASSERT_TRUE(loss->first_operator);
  EXPECT_EQ(loss->first_operator->op, "MatMulNBits");
  EXPECT_EQ(loss->first_operator->node, "node_2");
  ASSERT_TRUE(loss->remedy);
  EXPECT_EQ(loss->remedy->kind, kind);
  EXPECT_NEAR(loss->remedy->sqnr_db, loss->exact_db, 0.5);
}

TEST(Arithmetic, stored_weights_whose_activations_are_rounded_have_their_session_option) {
  expect_remedy(product_of_stored(true), product_of_stored(false),
                RuntimeRemedy::Kind::float_products);
}

TEST(Arithmetic, a_node_that_lets_activations_be_rounded_has_another_accuracy_level) {
  const Model quantized = optimize(product_of_stored(true), Optimization::extended);
  if (nodes_with_rounded_activations(quantized).empty())
    GTEST_SKIP() << "this ONNX Runtime does not make MatMulNBits of stored weights";
  expect_remedy(quantized, product_of_stored(false), RuntimeRemedy::Kind::accuracy_level);
}

TEST(Arithmetic, exact_arithmetic_loses_nothing_that_could_be_measured) {
  const Model quantized = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  const OrtOptions exact{.exact = true};
  EXPECT_FALSE(measure_arithmetic_loss({ModelIndex(quantized), nullptr, exact}, {}));
}

}  // namespace
}  // namespace vernier
