#include "vernier/analysis/quantize/alone.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"
#include "vernier/data/samples.h"

namespace vernier {
namespace {

// Returns what it is given, by a product with one.
Model identity() {
  return GraphBuilder()
      .input("x", DType::f32, {{1, ""}, {4, ""}})
      .weight(tensor_of<float>("w", DType::f32, {4, 4},
                               {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}))
      .node("MatMul", {"x", "w"}, {"y"})
      .output("y", DType::f32, {{1, ""}, {4, ""}})
      .model();
}

class OneToFour : public Samples {
 public:
  std::int64_t size() const override { return 2; }
  std::vector<Tensor> sample(std::int64_t) override {
    return {tensor_of<float>("x", DType::f32, {1, 4}, {1, 2, 3, 4})};
  }
};

TEST(QuantizersAlone, noise_is_that_of_the_range_that_is_tried) {
  const Model model = identity();
  OneToFour samples;
  SharedSamples shared(samples);
  const QuantizersAlone alone(ModelIndex(model), place_quantizers(ModelIndex(model), {}),
                              {shared, {0, 1}, 1}, 2);
  // Steps of 1 hold the values; a range to 2 clips 3 and 4; two samples of 30 each are the signal.
  const std::vector<RangeTrial> trials = {{"x", {0, 255}}, {"x", {0, 2}}};
  const std::vector<OutputNoise> noise = alone.measure(trials, 8);
  ASSERT_EQ(noise.size(), 2U);
  EXPECT_EQ(noise[0].total(), 0);
  EXPECT_NEAR(noise[1].total(), (1.0 + 4.0) / 30, 1e-4);
}

}  // namespace
}  // namespace vernier
