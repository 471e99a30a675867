#include "vernier/analysis/runtime_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"
#include "vernier/data/random.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// x -> MatMul with w -> y; quantized: x and w behind Q-DQ pairs.
Model product(bool quantized) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {2}}).output("y");
  builder.weight(tensor_of<float>("w", DType::f32, {2, 2}, {1, -0.5f, 0.25f, 2}));
  builder.weight(tensor_of<float>("s", DType::f32, {}, {0.01f}));
  builder.weight(tensor_of<std::uint8_t>("z", DType::u8, {}, {0}));
  if (!quantized) return builder.node("MatMul", {"x", "w"}, {"y"}).model();
  builder.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
  builder.node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  return builder.node("MatMul", {"d", "w"}, {"y"}).model();
}

// A runtime whose kernels get every output wrong by a tenth.
class Inaccurate : public Runner {
 public:
  explicit Inaccurate(const Model& model) : runner_(model.clone(), {.exact = true}) {}
  const std::vector<TensorSpec>& inputs() const override { return runner_.inputs(); }
  const std::vector<TensorSpec>& outputs() const override { return runner_.outputs(); }
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer&) override {
    std::vector<Tensor> outputs = runner_.run(inputs);
    for (float& value : elements<float>(outputs[0])) value *= 1.1f;
    return outputs;
  }

 private:
  OrtRunner runner_;
};

struct RuntimeLossTest : testing::Test {
  Model model = product(true);
  OrtRunner reference{product(false)};
  std::unique_ptr<Samples> samples = random_samples(model.inputs(), {.samples = 8});
};

TEST_F(RuntimeLossTest, what_the_runtime_adds_is_told_from_what_quantization_costs) {
  Inaccurate deployed(model);
  const auto loss = measure_runtime_loss(reference, deployed, model, {}, *samples);
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->output, "y");
  EXPECT_EQ(loss->samples, 4);
  EXPECT_NEAR(loss->deployed_sqnr_db, 20, 1);  // a tenth is 20 dB
  EXPECT_GT(loss->exact_sqnr_db, 35);
  EXPECT_TRUE(loss->is_notable());
}

TEST_F(RuntimeLossTest, a_runtime_that_computes_what_the_file_says_loses_nothing) {
  OrtRunner deployed(model.clone(), {.exact = true});
  const auto loss = measure_runtime_loss(reference, deployed, model, {}, *samples);
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->loss_db(), 0);
  EXPECT_FALSE(loss->is_notable());
}

TEST_F(RuntimeLossTest, nothing_is_said_of_a_model_without_integers_or_of_an_exact_run) {
  OrtRunner deployed(product(false));
  EXPECT_FALSE(measure_runtime_loss(reference, deployed, product(false), {}, *samples));
  EXPECT_FALSE(measure_runtime_loss(reference, deployed, model, {.exact = true}, *samples));
}

TEST_F(RuntimeLossTest, an_output_that_turns_into_nan_is_notable) {
  EXPECT_TRUE((RuntimeLoss{"y", 30, NAN, 4}).is_notable());
  EXPECT_EQ((RuntimeLoss{"y", INFINITY, INFINITY, 4}).loss_db(), 0);
}

TEST_F(RuntimeLossTest, stages_that_only_round_otherwise_are_not_moved) {
  const std::vector<RuntimeStage> stages = run_stages(reference, product(false), {}, *samples);
  std::vector<std::string> names;
  for (const RuntimeStage& stage : stages) {
    names.push_back(stage.name);
    EXPECT_FALSE(stage.is_moved) << stage.name;
    EXPECT_THAT(stage.optimizers, IsEmpty());
  }
  EXPECT_THAT(names, ElementsAre("exact", "off", "basic", "extended", "all"));
}

}  // namespace
}  // namespace vernier
