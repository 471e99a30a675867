#include "vernier/analysis/layers/absent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

using ::testing::Optional;

LayerRow right(const std::string& layer, const std::string& type) {
  return {.layer = layer, .type = type, .tensor = layer, .match = Match::scope, .compared = true};
}

// It differs, also on the reference's inputs.
LayerRow wrong(const std::string& layer, const std::string& type) {
  LayerRow row = right(layer, type);
  row.exceeds = true;
  row.introduced_max_abs_diff = 1;
  return row;
}

LayerRow absent(const std::string& layer, const std::string& type, Match match) {
  return {.layer = layer,
          .type = type,
          .match = match,
          .reference_shape = {2, 2},
          .exceeds = match == Match::none};
}

LayersResult settled(const Model& model, std::vector<LayerRow> rows) {
  LayersResult result{.rows = std::move(rows)};
  const ModelIndex index(model);
  classify_absent_layers(result, CandidateGraph(index, result.rows));
  return result;
}

GraphBuilder graph_of(const std::string& output) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{2, ""}, {2, ""}}).output(output, DType::f32, {{2, ""}, {2, ""}});
  for (const char* name : {"w0", "w1", "w2"}) graph.weight(make_tensor(name, DType::f32, {2, 2}));
  return graph;
}

TEST(AbsentLayers, a_convolution_with_its_batch_norm_is_fused_also_where_that_is_wrong) {
  GraphBuilder graph = graph_of("norm");
  graph.node("Conv", {"x", "w0"}, {"norm"});
  const LayersResult result =
      settled(graph.model(), {absent("conv", "Conv2d", Match::none), wrong("norm", "BatchNorm2d")});
  EXPECT_EQ(result.rows[0].match, Match::fused);
  EXPECT_FALSE(result.rows[0].exceeds);
  EXPECT_THAT(result.drift_origin, Optional(1));
  EXPECT_EQ(result.layers_exceeding, 1);
}

// As ONNX Runtime leaves a Linear with the ReLU behind it; a dropout has the tensor.
TEST(AbsentLayers, an_elided_layer_tells_of_the_one_before_it) {
  GraphBuilder graph = graph_of("second");
  graph.node("FusedGemm", {"x", "w0"}, {"first"}, {}, "com.microsoft")
      .node("MatMul", {"first", "w1"}, {"second"});
  LayerRow dropout = right("dropout", "Dropout");
  dropout.tensor = "first";
  dropout.match = Match::elided;
  const LayersResult result = settled(
      graph.model(), {absent("first", "Linear", Match::none), dropout, wrong("second", "Linear")});
  EXPECT_EQ(result.rows[0].match, Match::fused);
  EXPECT_THAT(result.drift_origin, Optional(2));
}

TEST(AbsentLayers, a_layer_that_does_nothing_is_not_missed) {
  GraphBuilder graph = graph_of("second");
  graph.node("MatMul", {"x", "w0"}, {"second"});
  const LayersResult result = settled(
      graph.model(), {absent("dropout", "Dropout", Match::none), wrong("second", "Linear")});
  EXPECT_EQ(result.rows[0].match, Match::fused);
  EXPECT_THAT(result.drift_origin, Optional(1));
}

// The product before it is that of the layer before it, which has no tensor either.
TEST(AbsentLayers, a_layer_that_does_nothing_is_not_missed_behind_a_fused_one) {
  GraphBuilder graph = graph_of("second");
  graph.node("FusedGemm", {"x", "w0"}, {"relu"}, {}, "com.microsoft")
      .node("MatMul", {"relu", "w1"}, {"second"});
  const LayersResult result = settled(
      graph.model(), {absent("first", "Linear", Match::fused),
                      absent("dropout", "Dropout", Match::none), wrong("second", "Linear")});
  EXPECT_EQ(result.rows[1].match, Match::fused);
  EXPECT_THAT(result.drift_origin, Optional(2));
  EXPECT_EQ(result.layers_exceeding, 1);
}

// Its fixed positions were looked up by the exporter: a constant is added.
TEST(AbsentLayers, a_table_that_became_a_constant_is_not_missed_before_what_is_wrong) {
  GraphBuilder graph = graph_of("norm");
  graph.node("Add", {"x", "w0"}, {"sum"}).node("MatMul", {"sum", "w1"}, {"norm"});
  for (const Match match : {Match::none, Match::fused}) {
    const LayersResult result =
        settled(graph.model(), {absent("positions", "Embedding", match), wrong("norm", "Linear")});
    EXPECT_EQ(result.rows[0].match, Match::fused);
    EXPECT_THAT(result.drift_origin, Optional(1));
  }
}

TEST(AbsentLayers, one_product_is_not_two_layers) {
  GraphBuilder graph = graph_of("second");
  graph.node("MatMul", {"x", "w0"}, {"second"});
  const LayersResult result =
      settled(graph.model(), {absent("first", "Linear", Match::none), wrong("second", "Linear")});
  EXPECT_EQ(result.rows[0].match, Match::none);
  EXPECT_THAT(result.drift_origin, Optional(0));
}

// down(act(gate(x)) * up(x)): what follows act in the order of calls does not read it.
std::vector<LayerRow> gated(Match act) {
  return {right("gate", "Linear"), absent("act", "SiLUActivation", act), right("up", "Linear"),
          wrong("down", "Linear")};
}

TEST(AbsentLayers, a_layer_that_a_later_one_should_have_read_is_missing) {
  GraphBuilder graph = graph_of("down");
  graph.node("MatMul", {"x", "w0"}, {"gate"})
      .node("MatMul", {"x", "w1"}, {"up"})
      .node("Mul", {"gate", "up"}, {"product"})
      .node("MatMul", {"product", "w2"}, {"down"});
  const LayersResult result = settled(graph.model(), gated(Match::fused));
  EXPECT_EQ(result.rows[1].match, Match::none);
  EXPECT_THAT(result.drift_origin, Optional(1));
  EXPECT_EQ(result.layers_exceeding, 2);
}

TEST(AbsentLayers, a_layer_whose_operators_are_there_is_fused) {
  GraphBuilder graph = graph_of("down");
  graph.node("MatMul", {"x", "w0"}, {"gate"})
      .node("MatMul", {"x", "w1"}, {"up"})
      .node("Sigmoid", {"gate"}, {"sigmoid"})
      .node("Mul", {"gate", "up"}, {"first"})
      .node("Mul", {"first", "sigmoid"}, {"product"})
      .node("MatMul", {"product", "w2"}, {"down"});
  for (const Match before : {Match::fused, Match::none}) {
    const LayersResult result = settled(graph.model(), gated(before));
    EXPECT_EQ(result.rows[1].match, Match::fused);
    EXPECT_THAT(result.drift_origin, Optional(3));
  }
}

// As ONNX Runtime leaves a Linear and the Sigmoid that the model computes behind its last layer.
// Operators of PyTorch have types that say nothing of ONNX's.
TEST(AbsentLayers, one_number_is_not_missed_where_what_follows_it_is_right) {
  GraphBuilder graph = graph_of("y");
  graph.node("MatMul", {"x", "w0"}, {"first"}).node("Sigmoid", {"first"}, {"y"});
  LayerRow single = absent("addmm", "aten.addmm", Match::none);
  single.reference_shape = {1, 1};
  LayersResult result{.rows = {right("x", "aten.relu"), single}, .outputs = {right("y", "")}};
  const Model model = graph.model();
  const ModelIndex index(model);
  classify_absent_layers(result, CandidateGraph(index, result.rows));
  EXPECT_EQ(result.rows[1].match, Match::fused);
  const LayersResult inside = settled(model, {single, right("y", "aten.sigmoid")});
  EXPECT_EQ(inside.rows[0].match, Match::fused);
}

TEST(AbsentLayers, the_last_layer_is_fused_where_the_output_is_right) {
  const auto last = [](const std::string& op, bool exceeds) {
    GraphBuilder graph = graph_of("y");
    graph.node(op, {"x", "w0"}, {"y"}, {}, op == "FusedGemm" ? "com.microsoft" : "");
    const Model model = graph.model();
    LayerRow output = right("y", "");
    output.exceeds = exceeds;
    LayersResult result{.rows = {absent("last", "Linear", Match::none)}, .outputs = {output}};
    const ModelIndex index(model);
    classify_absent_layers(result, CandidateGraph(index, result.rows));
    return result.rows[0].match;
  };
  EXPECT_EQ(last("FusedGemm", false), Match::fused);
  EXPECT_EQ(last("FusedGemm", true), Match::none);
  EXPECT_EQ(last("Add", false), Match::none);
}

}  // namespace
}  // namespace vernier
