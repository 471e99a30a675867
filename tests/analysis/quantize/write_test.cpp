#include "vernier/analysis/quantize/write.h"

#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// A convolution whose input is next to nothing beside its bias, as behind a Relu that is hardly
// ever open.
Model nearly_constant() {
  return GraphBuilder()
      .input("x", DType::f32, {{1, ""}, {1, ""}, {1, ""}, {1, ""}})
      .weight(tensor_of<float>("w", DType::f32, {2, 1, 1, 1}, {0.01F, -0.01F}))
      .weight(tensor_of<float>("b", DType::f32, {2}, {3, -3}))
      .node("Conv", {"x", "w", "b"}, {"y"})
      .output("y", DType::f32, {{1, ""}, {2, ""}, {1, ""}, {1, ""}})
      .model();
}

TEST(WriteStatic, a_large_bias_leaves_kernels_room_for_the_products) {
  const Model model = nearly_constant();
  QuantizationChoices choices{.precision = parse_quantized_precision("int8"),
                              .storage = WeightStorage::uint8};
  choices.ranges = {{"x", {0, 1e-5}}, {"y", {-4, 4}}};
  const Model written =
      write_quantized(ModelIndex(model), place_quantizers(ModelIndex(model), {}), choices);
  const std::vector<Tensor> inputs = {tensor_of<float>("x", DType::f32, {1, 1, 1, 1}, {1e-5F})};
  const auto exact = OrtRunner(written.clone(), {.exact = true}).run(inputs);
  const auto deployed = OrtRunner(written.clone()).run(inputs);
  EXPECT_NEAR(to_f32(exact[0])[0], 3, 0.04);
  EXPECT_NEAR(to_f32(deployed[0])[0], 3, 0.04);
  EXPECT_NEAR(to_f32(deployed[0])[1], -3, 0.04);
}

}  // namespace
}  // namespace vernier
