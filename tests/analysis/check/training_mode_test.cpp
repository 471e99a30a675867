#include "vernier/analysis/check/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/check/checking.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Findings training_mode(const Model& model) { return check_training_mode(ModelIndex(model)); }

GraphBuilder dropout(bool training, float ratio) {
  GraphBuilder builder;
  return builder.input("x", DType::f32, {{2, ""}})
      .weight(f32("ratio", {}, {ratio}))
      .weight(tensor_of<bool>("training", DType::boolean, {}, {training}))
      .node("Dropout", {"x", "ratio", "training"}, {"y"})
      .output("y", DType::f32, {{2, ""}});
}

TEST(TrainingMode, a_dropout_in_training_mode_is_active) {
  EXPECT_EQ(told(training_mode(dropout(true, 0.25F).model()), "active-dropout"),
            "node_1: training_mode is true and the ratio 0.25");
}

TEST(TrainingMode, a_dropout_that_drops_nothing_is_not) {
  EXPECT_THAT(training_mode(dropout(false, 0.25F).model()), IsEmpty());
  EXPECT_THAT(training_mode(dropout(true, 0).model()), IsEmpty());
}

TEST(TrainingMode, a_dropout_that_an_input_can_switch_on_is_active) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {{2, ""}})
                          .input("training", DType::boolean, {})
                          .node("Dropout", {"x", "", "training"}, {"y"})
                          .output("y")
                          .model();
  EXPECT_EQ(told(training_mode(model), "active-dropout"),
            "node_1: 'training' switches training mode on at run time, with a ratio of 0.5");
}

TEST(TrainingMode, old_dropouts_have_a_flag_of_their_own) {
  const auto model = [](std::int64_t is_test, std::int64_t opset) {
    return GraphBuilder()
        .input("x", DType::f32, {{2, ""}})
        .node("Dropout", {"x"}, {"y"}, {int_attribute("is_test", is_test)})
        .output("y")
        .model(opset);
  };
  EXPECT_EQ(told(training_mode(model(0, 6)), "active-dropout"),
            "node_1: is_test is 0 and the ratio 0.5");
  EXPECT_THAT(training_mode(model(1, 6)), IsEmpty());
  EXPECT_THAT(training_mode(model(0, 10)), IsEmpty());
}

GraphBuilder batchnorm(const std::vector<vernier_onnx::AttributeProto>& attributes,
                       const std::vector<std::string>& outputs = {"y"}) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{-1, "batch"}, {2, ""}});
  for (const char* name : {"scale", "bias", "mean", "variance"})
    builder.weight(f32(name, {2}, {1, 1}));
  return builder
      .node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, outputs, attributes)
      .output("y");
}

TEST(TrainingMode, a_batchnorm_in_training_mode_is_found) {
  EXPECT_EQ(told(training_mode(batchnorm({int_attribute("training_mode", 1)}).model()),
                 "training-batchnorm"),
            "node_1: training_mode is 1");
  EXPECT_EQ(
      told(training_mode(batchnorm({}, {"y", "m", "v", "a", "b"}).model(9)), "training-batchnorm"),
      "node_1: it has outputs for the statistics of the batch");
  EXPECT_EQ(told(training_mode(batchnorm({}).model(6)), "training-batchnorm"),
            "node_1: is_test is 0");
  EXPECT_THAT(training_mode(batchnorm({int_attribute("training_mode", 0)}).model()), IsEmpty());
  EXPECT_THAT(training_mode(batchnorm({int_attribute("is_test", 1)}).model(6)), IsEmpty());
}

TEST(TrainingMode, a_batchnorm_with_computed_statistics_is_in_training_mode) {
  GraphBuilder builder = batchnorm({});
  builder.graph().mutable_node(0)->set_input(3, "batch_mean");
  builder.node("ReduceMean", {"x"}, {"batch_mean"}, {ints_attribute("axes", {0})});
  EXPECT_EQ(told(training_mode(builder.model()), "training-batchnorm"),
            "node_1: its mean or variance is computed at run time ('batch_mean')");
}

// As Keras writes a LayerNormalization: each row a channel of a batch of one.
Model by_rows(const std::vector<std::int64_t>& shape, float factor) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{6, ""}, {4, ""}}).weight(i64("shape", shape));
  builder.weight(filled("scale", {6}, factor));
  for (const char* name : {"bias", "mean", "variance"}) builder.weight(filled(name, {6}, 0));
  return builder.node("Reshape", {"x", "shape"}, {"rows"})
      .node("BatchNormalization", {"rows", "scale", "bias", "mean", "variance"}, {"y", "m", "v"},
            {int_attribute("training_mode", 1)})
      .output("y")
      .model();
}

TEST(TrainingMode, a_layer_normalisation_written_as_batchnorm_is_none) {
  EXPECT_THAT(training_mode(by_rows({1, 6, 4, 1}, 1)), IsEmpty());
  EXPECT_EQ(ids_of(training_mode(by_rows({1, 6, 4, 1}, 2))).size(), 1u);  // a learned factor
  EXPECT_EQ(ids_of(training_mode(by_rows({-1, 6, 4, 1}, 1))).size(), 1u);
}

// The same with its activations quantized, its factor computed, and its statistics as nodes.
TEST(TrainingMode, a_layer_normalisation_is_known_behind_quantizers) {
  const auto model = [](std::int64_t batch) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{6, ""}, {4, ""}}).weight(i64("shape", {batch, 6, -1}));
    builder.weight(i64("rows", {6})).weight(filled("scale", {}, 1)).weight(filled("one", {1}, 1));
    builder.weight(filled("bias", {6}, 0));
    const auto quantized = [&](const std::string& name) {
      builder.node("QuantizeLinear", {name, "scale"}, {name + "_q"})
          .node("DequantizeLinear", {name + "_q", "scale"}, {name + "_dq"});
      return name + "_dq";
    };
    builder.node("Reshape", {"x", "shape"}, {"r"}).node("Expand", {"one", "rows"}, {"factor"});
    const std::string r = quantized("r"), factor = quantized("factor");
    builder.node("ReduceMean", {r}, {"mean"}, {ints_attribute("axes", {0, 2})});
    builder.node("Sub", {r, quantized("mean")}, {"centred"})
        .node("ReduceSumSquare", {"centred"}, {"sum"}, {ints_attribute("axes", {0, 2})})
        .node("BatchNormalization", {r, factor, "bias", "mean", "sum"}, {"y"});
    return builder.output("y").model();
  };
  EXPECT_THAT(training_mode(model(1)), IsEmpty());
  EXPECT_EQ(ids_of(training_mode(model(2))).size(), 2u);
}

TEST(TrainingMode, a_mean_over_a_batch_of_one_is_of_a_row) {
  const auto model = [](std::int64_t rows) {
    return GraphBuilder()
        .input("x", DType::f32, {{6, ""}, {4, ""}})
        .weight(i64("shape", {rows, 6, -1}))
        .node("Reshape", {"x", "shape"}, {"r"})
        .node("ReduceMean", {"r"}, {"mean"}, {ints_attribute("axes", {0, 2})})
        .node("Sub", {"r", "mean"}, {"y"})
        .output("y")
        .model();
  };
  EXPECT_THAT(training_mode(model(1)), IsEmpty());
  EXPECT_EQ(ids_of(training_mode(model(2))).size(), 1u);
}

// x minus its mean over these axes.
Model centred(const std::vector<std::int64_t>& axes, std::int64_t rank = 4) {
  std::vector<Dim> shape(rank, Dim{3, ""});
  return GraphBuilder()
      .input("x", DType::f32, shape)
      .node("ReduceMean", {"x"}, {"mean"}, {ints_attribute("axes", axes)})
      .node("Sub", {"x", "mean"}, {"y"})
      .output("y")
      .model();
}

TEST(TrainingMode, a_mean_over_the_batch_is_a_leftover_of_training) {
  EXPECT_EQ(told(training_mode(centred({0, 2, 3})), "batch-statistics"),
            "node_2: the mean of 'x' over axis 0 (node_1) is subtracted from it");
  EXPECT_EQ(told(training_mode(centred({-4, -2, -1})), "batch-statistics"),
            "node_2: the mean of 'x' over axis 0 (node_1) is subtracted from it");
}

TEST(TrainingMode, a_mean_over_features_or_over_everything_is_not) {
  EXPECT_THAT(training_mode(centred({-1})), IsEmpty());
  EXPECT_THAT(training_mode(centred({2, 3})), IsEmpty());
  EXPECT_THAT(training_mode(centred({0}, 1)), IsEmpty());
}

TEST(TrainingMode, only_operators_that_draw_are_random) {
  const auto model = [](const std::string& op) {
    return GraphBuilder()
        .input("x", DType::f32, {{2, ""}})
        .node(op, {"x"}, {"y"})
        .output("y")
        .model();
  };
  EXPECT_EQ(told(training_mode(model("Bernoulli")), "random-operator"),
            "node_1: Bernoulli draws anew in every run");
  EXPECT_THAT(training_mode(model("Sigmoid")), IsEmpty());
}

TEST(TrainingMode, random_operators_are_found_inside_subgraphs_too) {
  GraphBuilder branch("branch");
  branch.node("RandomNormal", {}, {"r"}, {ints_attribute("shape", {2})}).output("r");
  GraphBuilder other("other");
  other.node("Identity", {"x"}, {"o"}).output("o");
  const Model model =
      GraphBuilder()
          .input("x", DType::f32, {{2, ""}})
          .input("c", DType::boolean, {})
          .node("If", {"c"}, {"y"},
                {graph_attribute("then_branch", branch), graph_attribute("else_branch", other)})
          .output("y")
          .model();
  EXPECT_EQ(told(training_mode(model), "random-operator"),
            "node_1.then_branch/node_1: RandomNormal draws anew in every run");
}

}  // namespace
}  // namespace vernier
