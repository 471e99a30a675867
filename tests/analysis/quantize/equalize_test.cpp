#include "vernier/analysis/quantize/equalize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"
#include "vernier/data/samples.h"
#include "vernier/model/index.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

const std::vector<Dim> image = {{1, ""}, {2, ""}, {3, ""}, {3, ""}};

// Two channels, one a hundredth of the other, into a depthwise and a dense convolution.
GraphBuilder uneven(const std::string& between) {
  GraphBuilder builder;
  builder.input("x", DType::f32, image)
      .weight(tensor_of<float>("w1", DType::f32, {2, 2, 1, 1}, {1, 0.5F, 0.01F, 0.02F}))
      .weight(tensor_of<float>("b1", DType::f32, {2}, {0.5F, 0.001F}))
      .weight(tensor_of<float>("w2", DType::f32, {2, 1, 1, 1}, {0.7F, 40}))
      .weight(tensor_of<float>("w3", DType::f32, {2, 2, 1, 1}, {1, 2, 3, 4}))
      .weight(tensor_of<float>("low", DType::f32, {}, {0}))
      .weight(tensor_of<float>("high", DType::f32, {}, {6}))
      .node("Conv", {"x", "w1", "b1"}, {"a"});
  if (between == "Clip")
    builder.node("Clip", {"a", "low", "high"}, {"b"});
  else
    builder.node(between, {"a"}, {"b"});
  return builder;
}

Model depthwise(const std::string& between) {
  return uneven(between)
      .node("Conv", {"b", "w2"}, {"c"}, {int_attribute("group", 2)})
      .node("Conv", {"c", "w3"}, {"y"})
      .output("y", DType::f32, image)
      .model();
}

class Ramp : public Samples {
 public:
  std::int64_t size() const override { return 4; }
  std::vector<Tensor> sample(std::int64_t index) override {
    std::vector<float> values(18);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::sin(static_cast<float>(i) + static_cast<float>(index));
    return {tensor_of<float>("x", DType::f32, {1, 2, 3, 3}, values)};
  }
};

struct Equalized {
  std::optional<Model> model;
  std::vector<float> before, after;
};

Equalized run(const Model& model) {
  Ramp samples;
  SharedSamples shared(samples);
  ChannelExtremes extremes(find_scalable(ModelIndex(model)));
  calibrate(model, {}, {shared, {0, 1, 2, 3}, 1},
            {.tensors = extremes.tensors(),
             .observe = [&](const TensorView& tensor) { extremes.observe(tensor); }});
  Equalized result{equalize(model, extremes)};
  if (!result.model) return result;
  result.before = to_f32(OrtRunner(model.clone()).run(samples.sample(1))[0]);
  result.after = to_f32(OrtRunner(result.model->clone()).run(samples.sample(1))[0]);
  return result;
}

TEST(Equalize, channels_get_alike_and_outputs_stay) {
  for (const char* between : {"Relu", "Clip", "LeakyRelu"}) {
    const Model model = depthwise(between);
    const Equalized result = run(model);
    ASSERT_TRUE(result.model) << between;
    ASSERT_EQ(result.before.size(), result.after.size());
    for (std::size_t i = 0; i < result.before.size(); ++i)
      EXPECT_NEAR(result.after[i], result.before[i], 1e-4) << between;
    const ModelIndex index(*result.model);
    const auto weight = to_f32(*index.main().value("w1"));
    EXPECT_EQ(weight[0], 1);          // the widest channel is as it was
    EXPECT_GT(weight[3], 5 * 0.02F);  // the narrow one is not
    EXPECT_LT(to_f32(*index.main().value("w2"))[1], 8);
  }
}

TEST(Equalize, what_adds_or_returns_channels_leaves_them_as_they_are) {
  const Model added = uneven("Relu")
                          .node("Add", {"b", "x"}, {"c"})
                          .node("Conv", {"c", "w3"}, {"y"})
                          .output("y", DType::f32, image)
                          .model();
  EXPECT_TRUE(find_scalable(ModelIndex(added)).empty());
  const Model returned = uneven("Relu")
                             .node("Conv", {"b", "w3"}, {"y"})
                             .output("b", DType::f32, image)
                             .output("y", DType::f32, image)
                             .model();
  EXPECT_TRUE(find_scalable(ModelIndex(returned)).empty());
  const Model squared = uneven("Relu")
                            .node("Relu", {"b"}, {"c"})
                            .node("Mul", {"b", "c"}, {"d"})
                            .node("Conv", {"d", "w3"}, {"y"})
                            .output("y", DType::f32, image)
                            .model();
  EXPECT_TRUE(find_scalable(ModelIndex(squared)).empty());
}

TEST(Equalize, weights_that_two_nodes_read_are_not_scaled) {
  const Model shared = uneven("Relu")
                           .node("Conv", {"b", "w3"}, {"c"})
                           .node("Conv", {"x", "w3"}, {"d"})
                           .node("Add", {"c", "d"}, {"y"})
                           .output("y", DType::f32, image)
                           .model();
  EXPECT_TRUE(find_scalable(ModelIndex(shared)).empty());
}

}  // namespace
}  // namespace vernier
