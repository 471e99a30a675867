#include "vernier/model/widen_half.h"

#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// An input, a weight, a constant and a cast, all in float16.
Model half_model() {
  GraphBuilder builder;
  builder.input("x", DType::f16, {{2}}).output("y", DType::f16, {{2}});
  builder.weight(convert(tensor_of<float>("w", DType::f32, {2}, {1, 2}), DType::f16));
  builder
      .node("Constant", {}, {"c"},
            {tensor_attribute("value",
                              convert(tensor_of<float>("", DType::f32, {}, {0.1F}), DType::f16))})
      .node("Mul", {"x", "w"}, {"a"})
      .node("Cast", {"a"}, {"b"}, {int_attribute("to", TensorProto::FLOAT)})
      .node("Cast", {"b"}, {"d"}, {int_attribute("to", TensorProto::FLOAT16)})
      .node("Add", {"d", "c"}, {"y"});
  return builder.model();
}

std::vector<float> run(const Model& model) {
  OrtRunner runner(model.clone(), {});
  const std::vector<Tensor> inputs = {tensor_of<float>("x", DType::f32, {2}, {1, 3})};
  return to_f32(runner.run(inputs).at(0));
}

TEST(WidenHalf, computes_in_float32_with_the_stored_values) {
  const Model widened =
      widen_half(half_model(), [](const std::string&, const TensorView&) { return std::nullopt; });
  EXPECT_EQ(widened.inputs().at(0).dtype, DType::f32);
  EXPECT_EQ(widened.outputs().at(0).dtype, DType::f32);
  const float stored = 0.0999755859375F;  // 0.1 in float16
  EXPECT_EQ(run(widened), (std::vector<float>{1 + stored, 6 + stored}));
}

TEST(WidenHalf, constants_are_replaced_by_name) {
  std::vector<std::string> asked;
  const Model widened =
      widen_half(half_model(),
                 [&](const std::string& name, const TensorView& stored) -> std::optional<Tensor> {
                   asked.push_back(name);
                   if (name != "c") return std::nullopt;
                   EXPECT_EQ(stored.dtype, DType::f16);
                   return tensor_of<float>("", DType::f32, {}, {0.5F});
                 });
  EXPECT_EQ(asked, (std::vector<std::string>{"w", "c"}));
  EXPECT_EQ(run(widened), (std::vector<float>{1.5F, 6.5F}));
}

}  // namespace
}  // namespace vernier
