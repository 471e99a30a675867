#include "vernier/analysis/compare/stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

struct StagesTest : testing::Test {
  Model model = product(true);
  OrtRunner reference{product(false)};
  std::unique_ptr<Samples> samples = random_samples(model.inputs(), {.samples = 8});
};

TEST_F(StagesTest, stages_that_only_round_otherwise_are_not_moved) {
  const std::vector<RuntimeStage> stages = run_stages(reference, product(false), {}, *samples);
  std::vector<std::string> names;
  for (const RuntimeStage& stage : stages) {
    names.push_back(stage.name);
    EXPECT_FALSE(stage.is_moved) << stage.name;
    EXPECT_THAT(stage.optimizers, IsEmpty());
  }
  EXPECT_THAT(names, ElementsAre("exact", "off", "basic", "extended", "all"));
}

// GELU as PyTorch exports it: a fused kernel rounds otherwise, at 130 dB.
TEST(Stages, a_fusion_that_rounds_otherwise_has_not_moved_the_output) {
  GraphBuilder builder;
  std::vector<float> weight(64 * 64);
  for (std::size_t i = 0; i < weight.size(); ++i)
    weight[i] = static_cast<float>(i * 37 % 101) / 101 - 0.5F;
  builder.input("x", DType::f32, {{4}, {64}})
      .weight(tensor_of("w", DType::f32, {64, 64}, weight))
      .weight(tensor_of<float>("root", DType::f32, {}, {1.41421356F}))
      .weight(tensor_of<float>("one", DType::f32, {}, {1}))
      .weight(tensor_of<float>("half", DType::f32, {}, {0.5F}))
      .node("MatMul", {"x", "w"}, {"a"})
      .node("Div", {"a", "root"}, {"b"})
      .node("Erf", {"b"}, {"c"})
      .node("Add", {"c", "one"}, {"d"})
      .node("Mul", {"a", "d"}, {"e"})
      .node("Mul", {"e", "half"}, {"f"})
      .node("MatMul", {"f", "w"}, {"y"})
      .output("y");
  const Model model = builder.model();
  OrtRunner reference(model.clone());
  const auto samples = random_samples(model.inputs(), {.samples = 4});
  for (const RuntimeStage& stage : run_stages(reference, model, {}, *samples))
    EXPECT_FALSE(stage.is_moved) << stage.name << " " << stage.change_db;
}

// A product that is too small for float32 to hold more than a few bits of it, until it is
// multiplied by a large number: fused into one factor, nothing is lost. Additions play no part.
Model denormal_product() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {1}, {4}, {4}})
      .weight(tensor_of<float>("w", DType::f32, {1, 1, 1, 1}, {0x1p-145F}))
      .weight(tensor_of<float>("m", DType::f32, {1, 1, 1}, {0x1p126F}))
      .node("Conv", {"x", "w"}, {"c"})
      .node("Mul", {"c", "m"}, {"y"})
      .output("y");
  return builder.model();
}

TEST(Stages, the_first_stage_that_moves_the_output_is_named_with_the_optimiser_that_does) {
  const Model model = denormal_product();
  OrtRunner reference(model.clone(), {.optimization = Optimization::disabled});
  const auto samples = random_samples(model.inputs(), {.samples = 4});
  const std::vector<RuntimeStage> stages = run_stages(reference, model, {}, *samples);
  ASSERT_EQ(stages.size(), 5u);
  EXPECT_EQ(stages[0].sqnr_db, INFINITY);  // as the file says
  EXPECT_EQ(stages[1].sqnr_db, INFINITY);
  EXPECT_EQ(stages[2].name, "basic");
  EXPECT_TRUE(stages[2].is_moved);
  EXPECT_LT(stages[2].change_db, 40);
  EXPECT_THAT(stages[2].optimizers, ElementsAre("ConvMulFusion"));
  EXPECT_FALSE(stages[3].is_moved);
  EXPECT_FALSE(stages[4].is_moved);
}

// The same twice, each behind an operator that another optimiser fuses.
TEST(Stages, all_optimisers_that_it_takes_are_named_and_no_others) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {1}, {4}, {4}})
      .input("u", DType::f32, {{4}, {1}})
      .weight(tensor_of<float>("w", DType::f32, {1, 1, 1, 1}, {0x1p-145F}))
      .weight(tensor_of<float>("m", DType::f32, {1, 1, 1}, {0x1p126F}))
      .weight(tensor_of<float>("v", DType::f32, {1, 2}, {0x1p-145F, 0x1p-145F}))
      .weight(tensor_of<float>("gain", DType::f32, {2}, {0x1p126F, 0x1p126F}))
      .weight(tensor_of<float>("zeros", DType::f32, {2}, {0, 0}))
      .weight(tensor_of<float>("ones", DType::f32, {2}, {1, 1}))
      .node("Conv", {"x", "w"}, {"c"})
      .node("Mul", {"c", "m"}, {"y"})
      .node("MatMul", {"u", "v"}, {"p"})
      .node("BatchNormalization", {"p", "gain", "zeros", "zeros", "ones"}, {"z"})
      .output("y")
      .output("z");
  const Model model = builder.model();
  OrtRunner reference(model.clone(), {.optimization = Optimization::disabled});
  const auto samples = random_samples(model.inputs(), {.samples = 4});
  const std::vector<RuntimeStage> stages = run_stages(reference, model, {}, *samples);
  ASSERT_EQ(stages.size(), 5u);
  EXPECT_TRUE(stages[2].is_moved);
  EXPECT_THAT(stages[2].optimizers,
              ElementsAre("ConvMulFusion", "MatMul_BatchNormalization_Fusion"));
}

}  // namespace
}  // namespace vernier
