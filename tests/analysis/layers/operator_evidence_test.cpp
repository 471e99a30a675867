#include "vernier/analysis/layers/operator_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

vernier_onnx::AttributeProto float_attribute(const std::string& name, float value) {
  vernier_onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(vernier_onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
  return attribute;
}

// The region of tensor "y" of a graph.
struct Graph {
  explicit Graph(const GraphBuilder& builder) : model(builder.model()), weights(model) {
    region = region_of(ModelIndex(model), "y", [](const std::string&) { return false; });
  }
  Model model;
  StoredWeights weights;
  Region region;
};

GraphBuilder chain(const std::vector<std::string>& operators, const std::string& domain = "") {
  GraphBuilder graph;
  std::string last = "x";
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const std::string next = i + 1 == operators.size() ? "y" : "t" + std::to_string(i);
    graph.node(operators[i], {last}, {next}, {}, domain);
    last = next;
  }
  return graph;
}

TEST(OperatorEvidence, a_dropout_trains_only_if_it_is_told_to) {
  const auto dropout = [](float ratio, std::uint8_t training) {
    GraphBuilder graph;
    graph.weight(tensor_of<float>("ratio", DType::f32, {}, {ratio}));
    graph.weight(tensor_of<std::uint8_t>("training", DType::boolean, {}, {training}));
    graph.node("Dropout", {"x", "ratio", "training"}, {"y"});
    const Graph found(graph);
    return training_operator(found.region, found.weights);
  };
  EXPECT_EQ(dropout(0.5F, 1), "Dropout node_1 computes as in training");
  EXPECT_EQ(dropout(0.5F, 0), "");
  EXPECT_EQ(dropout(0.0F, 1), "");
  const Graph plain(chain({"Dropout"}));
  EXPECT_EQ(training_operator(plain.region, plain.weights), "");
}

TEST(OperatorEvidence, a_batch_norm_trains_where_it_asks_for_the_batchs_statistics) {
  GraphBuilder graph;
  graph.node("BatchNormalization", {"x", "a", "b", "c", "d"}, {"y", "m", "v", "sm", "sv"});
  const Graph found(graph);
  EXPECT_NE(training_operator(found.region, found.weights), "");
}

TEST(OperatorEvidence, an_activation_is_missing_where_nothing_computes_it) {
  EXPECT_EQ(missing_operator(Graph(chain({"Conv"})).region, "ReLU"),
            "no operator computes the ReLU: there is only Conv");
  EXPECT_EQ(missing_operator(Graph(chain({"Conv", "Relu"})).region, "ReLU"), "");
  EXPECT_EQ(missing_operator(Graph(chain({"Conv", "Clip"})).region, "ReLU"), "");
  EXPECT_EQ(missing_operator(Graph(chain({"Div", "Erf", "Mul"})).region, "GELU"), "");
}

TEST(OperatorEvidence, nothing_is_said_of_unknown_types_and_foreign_operators) {
  EXPECT_EQ(missing_operator(Graph(chain({"Conv"})).region, "MyLayer"), "");
  EXPECT_EQ(missing_operator(Graph(chain({"FusedConv"}, "com.microsoft")).region, "ReLU"), "");
  EXPECT_EQ(missing_operator(Region{}, "ReLU"), "");
}

TEST(OperatorEvidence, operators_are_counted) {
  const Graph two(chain({"Conv", "Relu", "Relu"}));
  const Graph one(chain({"Conv", "Relu", "Identity"}));
  EXPECT_EQ(differing_operators(two.region, one.region), "the reference has Relu more");
  EXPECT_EQ(differing_operators(one.region, two.region), "the candidate has Relu more");
  EXPECT_EQ(differing_operators(one.region, one.region), "");
  EXPECT_EQ(differing_operators(two.region, Graph(chain({"Conv", "Tanh", "Relu"})).region),
            "the reference has Relu where the candidate has Tanh");
}

TEST(OperatorEvidence, attributes_are_compared_where_the_operators_are_the_same) {
  const auto softmax = [](std::vector<vernier_onnx::AttributeProto> attributes) {
    return Graph(GraphBuilder().node("Softmax", {"x"}, {"y"}, attributes));
  };
  const Graph last = softmax({int_attribute("axis", -1)});
  EXPECT_EQ(differing_attribute(last.region, softmax({int_attribute("axis", 1)}).region),
            "axis of node_1 is 1 in the candidate, -1 in the reference");
  EXPECT_EQ(differing_attribute(last.region, softmax({}).region),
            "axis of node_1 is unset in the candidate, -1 in the reference");
  EXPECT_EQ(differing_attribute(last.region, last.region), "");
  EXPECT_EQ(differing_attribute(last.region, Graph(chain({"Tanh"})).region), "");
}

TEST(OperatorEvidence, an_epsilon_is_found_as_an_attribute_and_written_out) {
  const WatchedTensor leaf{.name = "norm", .type = "LayerNorm", .constants = {{"eps", 1e-5}}};
  const auto found = [&](const GraphBuilder& builder) {
    const Graph graph(builder);
    return differing_constant(graph.region, graph.weights, leaf);
  };
  const auto normalisation = [](float epsilon) {
    return GraphBuilder().node("LayerNormalization", {"x"}, {"y"},
                               {float_attribute("epsilon", epsilon)});
  };
  EXPECT_EQ(found(normalisation(1e-5F)), "");
  EXPECT_EQ(found(normalisation(1e-3F)),
            "eps of node_1 is 0.001 in the candidate, 1e-05 in the reference");

  const auto written_out = [](float epsilon) {
    GraphBuilder graph;
    graph.weight(tensor_of<float>("epsilon", DType::f32, {}, {epsilon}));
    return graph.node("Add", {"x", "epsilon"}, {"t"}).node("Sqrt", {"t"}, {"y"});
  };
  EXPECT_EQ(found(written_out(1e-5F)), "");
  EXPECT_EQ(found(written_out(1e-3F)),
            "eps of node_1 is 0.001 in the candidate, 1e-05 in the reference");
}

TEST(OperatorEvidence, a_slope_is_compared) {
  const WatchedTensor leaf{.type = "LeakyReLU", .constants = {{"negative_slope", 0.2}}};
  const Graph graph(
      GraphBuilder().node("LeakyRelu", {"x"}, {"y"}, {float_attribute("alpha", 0.1F)}));
  EXPECT_EQ(differing_constant(graph.region, graph.weights, leaf),
            "negative_slope of node_1 is 0.1 in the candidate, 0.2 in the reference");
}

TEST(OperatorEvidence, names_are_in_the_order_of_the_graph_and_few) {
  EXPECT_EQ(operator_names(Graph(chain({"Conv", "Identity", "Relu"})).region), "Conv, Relu");
  EXPECT_EQ(operator_names(Graph(chain({"Identity"})).region), "Identity");
  EXPECT_EQ(operator_names(Region{}), "nothing");
  EXPECT_EQ(operator_names(Graph(chain({"Abs", "Neg", "Abs", "Neg", "Abs", "Neg", "Exp"})).region),
            "7 operators up to Exp");
}

}  // namespace
}  // namespace vernier
