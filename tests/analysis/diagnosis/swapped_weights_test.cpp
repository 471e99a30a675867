#include "vernier/analysis/diagnosis/swapped_weights.h"

#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/model/graph.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

using Attributes = std::vector<vernier_onnx::AttributeProto>;

// The axis of the scales once the quantized matrix is transposed; nullopt if it is unset.
std::optional<std::int64_t> axis_behind(const std::vector<float>& scales,
                                        const Attributes& attributes) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {2}})
      .weight(tensor_of<std::int8_t>("w", DType::i8, {2, 2}, {1, 2, 3, 4}))
      .weight(tensor_of<float>("scale", DType::f32, {std::ssize(scales)}, scales))
      .node("DequantizeLinear", {"w", "scale"}, {"real"}, attributes)
      .node("MatMul", {"x", "real"}, {"y"})
      .output("y");
  const Model transposed = with_transposed_weights(ModelIndex(builder.model()), {"w"});
  const auto* axis = attribute(transposed.graph().node(0), "axis");
  return axis ? std::optional(axis->i()) : std::nullopt;
}

TEST(TransposedWeights, scales_of_channels_move_to_the_other_axis) {
  EXPECT_EQ(axis_behind({1, 2}, {int_attribute("axis", 0)}), 1);
  EXPECT_EQ(axis_behind({1, 2}, {int_attribute("axis", 1)}), 0);
  EXPECT_EQ(axis_behind({1, 2}, {int_attribute("axis", -1)}), 0);
  EXPECT_EQ(axis_behind({1, 2}, {int_attribute("axis", -2)}), 1);
  EXPECT_EQ(axis_behind({1, 2}, {}), 0);  // the default is 1
  EXPECT_EQ(axis_behind({1}, {}), std::nullopt);
}

}  // namespace
}  // namespace vernier
