#include "vernier/model/inference_mode.h"

#include <gtest/gtest.h>
#include <vernier_onnx.pb.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

// x -> BatchNormalization -> Dropout -> y
Model in_training(std::int64_t mode, float ratio, bool training) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}, {1}}).output("y");
  for (const char* name : {"scale", "shift", "mean", "variance"})
    graph.weight(tensor_of<float>(name, DType::f32, {1}, {1}));
  graph.weight(tensor_of<float>("ratio", DType::f32, {}, {ratio}));
  graph.weight(tensor_of<std::uint8_t>("training", DType::boolean, {}, {training}));
  graph.node("BatchNormalization", {"x", "scale", "shift", "mean", "variance"},
             {"n", "new_mean", "new_variance"}, {int_attribute("training_mode", mode)});
  return graph.node("Dropout", {"n", "ratio", "training"}, {"y"}).model();
}

bool trains(const Model& model, int node) {
  const ModelIndex index(model);
  return computes_as_in_training(model.graph().node(node), index.main());
}

TEST(InferenceMode, a_norm_trains_by_its_attribute_and_a_dropout_by_its_operands) {
  EXPECT_TRUE(trains(in_training(1, 0.5F, true), 0));
  EXPECT_FALSE(trains(in_training(0, 0.5F, true), 0));
  EXPECT_TRUE(trains(in_training(0, 0.5F, true), 1));
  EXPECT_FALSE(trains(in_training(0, 0.5F, false), 1));
  EXPECT_FALSE(trains(in_training(0, 0, true), 1));
}

TEST(InferenceMode, nothing_trains_and_no_statistics_are_given) {
  const Model model = in_inference_mode(ModelIndex(in_training(1, 0.5F, true)));
  EXPECT_FALSE(trains(model, 0));
  EXPECT_FALSE(trains(model, 1));
  EXPECT_EQ(model.graph().node(0).output_size(), 1);
}

TEST(InferenceMode, a_model_that_does_not_train_stays_as_it_is) {
  const Model model = in_training(0, 0.5F, false);
  EXPECT_EQ(in_inference_mode(ModelIndex(model)).graph().SerializeAsString(),
            model.graph().SerializeAsString());
}

}  // namespace
}  // namespace vernier
