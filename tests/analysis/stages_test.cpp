#include "vernier/analysis/stages.h"

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

}  // namespace
}  // namespace vernier
