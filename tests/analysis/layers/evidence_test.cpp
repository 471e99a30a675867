#include "vernier/analysis/layers/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"
#include "vernier/analysis/layers/attributes.h"
#include "vernier/report/layers.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The evidence as a report says it, of a layer of this type.
std::string text(LayerEvidence evidence, const std::string& type = "") {
  return describe_evidence({.type = type, .introduced_max_abs_diff = 0.5, .evidence = evidence},
                           {});
}

vernier_onnx::AttributeProto float_attribute(const std::string& name, float value) {
  vernier_onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(vernier_onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
  return attribute;
}

const std::string recomputed = "on the reference's inputs it is still 0.5 off: ";

// The region of tensor "y" of a graph.
struct Graph {
  explicit Graph(const GraphBuilder& builder) : Graph(builder.model()) {}
  explicit Graph(Model built)
      : model(std::move(built)),
        index(model),
        region(region_of(index, "y", [](const std::string&) { return false; })) {}
  Model model;
  ModelIndex index;
  Region region;
};

LayerEvidence first_attribute(const std::vector<OtherAttribute>& found) {
  return found.empty() ? LayerEvidence() : found.front().evidence;
}

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
    return text(training_operator(Graph(graph).region));
  };
  EXPECT_EQ(dropout(0.5F, 1), "Dropout node_1 computes as in training");
  EXPECT_EQ(dropout(0.5F, 0), "");
  EXPECT_EQ(dropout(0.0F, 1), "");
  EXPECT_EQ(text(training_operator(Graph(chain({"Dropout"})).region)), "");
}

TEST(OperatorEvidence, a_batch_norm_trains_where_it_asks_for_the_batchs_statistics) {
  GraphBuilder graph;
  graph.node("BatchNormalization", {"x", "a", "b", "c", "d"}, {"y", "m", "v", "sm", "sv"});
  EXPECT_TRUE(training_operator(Graph(graph).region));
}

TEST(OperatorEvidence, an_activation_is_missing_where_nothing_computes_it) {
  EXPECT_EQ(text(missing_operator(Graph(chain({"Conv"})).region, "ReLU"), "ReLU"),
            "no operator computes the ReLU: there is only Conv");
  EXPECT_FALSE(missing_operator(Graph(chain({"Conv", "Relu"})).region, "ReLU"));
  EXPECT_FALSE(missing_operator(Graph(chain({"Conv", "Clip"})).region, "ReLU"));
  EXPECT_FALSE(missing_operator(Graph(chain({"Div", "Erf", "Mul"})).region, "GELU"));
}

TEST(OperatorEvidence, nothing_is_said_of_unknown_types_and_foreign_operators) {
  EXPECT_FALSE(missing_operator(Graph(chain({"Conv"})).region, "MyLayer"));
  EXPECT_FALSE(missing_operator(Graph(chain({"FusedConv"}, "com.microsoft")).region, "ReLU"));
  EXPECT_FALSE(missing_operator(Region{}, "ReLU"));
}

TEST(OperatorEvidence, operators_are_counted) {
  const Graph two(chain({"Conv", "Relu", "Relu"}));
  const Graph one(chain({"Conv", "Relu", "Identity"}));
  EXPECT_EQ(text(differing_operators(two.region, one.region)), "the reference has Relu more");
  EXPECT_EQ(text(differing_operators(one.region, two.region)), "the candidate has Relu more");
  EXPECT_FALSE(differing_operators(one.region, one.region));
  EXPECT_EQ(text(differing_operators(two.region, Graph(chain({"Conv", "Tanh", "Relu"})).region)),
            "the reference has Relu where the candidate has Tanh");
}

TEST(OperatorEvidence, attributes_are_compared_where_the_operators_are_the_same) {
  const auto softmax = [](std::vector<vernier_onnx::AttributeProto> attributes) {
    return Graph(GraphBuilder().node("Softmax", {"x"}, {"y"}, attributes));
  };
  const Graph last = softmax({int_attribute("axis", -1)});
  EXPECT_EQ(text(first_attribute(
                differing_attributes(last.region, softmax({int_attribute("axis", 1)}).region))),
            recomputed + "axis of node_1 is 1 in the candidate, -1 in the reference");
  EXPECT_EQ(text(first_attribute(differing_attributes(last.region, softmax({}).region))),
            recomputed + "axis of node_1 is unset in the candidate, -1 in the reference");
  EXPECT_THAT(differing_attributes(last.region, last.region), IsEmpty());
  EXPECT_THAT(differing_attributes(last.region, Graph(chain({"Tanh"})).region), IsEmpty());
}

TEST(OperatorEvidence, an_epsilon_is_found_as_an_attribute_and_written_out) {
  const WatchedTensor leaf{.name = "norm", .type = "LayerNorm", .constants = {{"eps", 1e-5}}};
  const auto found = [&](const GraphBuilder& builder) {
    return text(first_attribute(differing_constants(Graph(builder).region, leaf)));
  };
  const auto normalisation = [](float epsilon) {
    return GraphBuilder().node("LayerNormalization", {"x"}, {"y"},
                               {float_attribute("epsilon", epsilon)});
  };
  EXPECT_EQ(found(normalisation(1e-5F)), "");
  EXPECT_EQ(found(normalisation(1e-3F)),
            recomputed + "eps of node_1 is 0.001 in the candidate, 1e-05 in the reference");

  const GraphBuilder unset = GraphBuilder().node("LayerNormalization", {"x"}, {"y"});
  EXPECT_EQ(found(unset), "");
  const WatchedTensor fine{.name = "norm", .type = "LayerNorm", .constants = {{"eps", 1e-12}}};
  EXPECT_EQ(text(first_attribute(differing_constants(Graph(unset).region, fine))),
            recomputed + "eps of node_1 is 1e-05 in the candidate, 1e-12 in the reference");

  const auto written_out = [](float epsilon) {
    GraphBuilder graph;
    graph.weight(tensor_of<float>("epsilon", DType::f32, {}, {epsilon}));
    return graph.node("Add", {"x", "epsilon"}, {"t"}).node("Sqrt", {"t"}, {"y"});
  };
  EXPECT_EQ(found(written_out(1e-5F)), "");
  EXPECT_EQ(found(written_out(1e-3F)),
            recomputed + "eps of node_1 is 0.001 in the candidate, 1e-05 in the reference");
}

TEST(OperatorEvidence, a_slope_is_compared) {
  const WatchedTensor leaf{.type = "LeakyReLU", .constants = {{"negative_slope", 0.2}}};
  const Graph graph(
      GraphBuilder().node("LeakyRelu", {"x"}, {"y"}, {float_attribute("alpha", 0.1F)}));
  EXPECT_EQ(text(first_attribute(differing_constants(graph.region, leaf))),
            recomputed + "negative_slope of node_1 is 0.1 in the candidate, 0.2 in the reference");
}

TEST(OperatorEvidence, names_are_in_the_order_of_the_graph) {
  EXPECT_THAT(operator_names(Graph(chain({"Conv", "Identity", "Relu"})).region),
              ElementsAre("Conv", "Relu"));
  EXPECT_THAT(operator_names(Graph(chain({"Identity"})).region), ElementsAre("Identity"));
  EXPECT_THAT(operator_names(Region{}), IsEmpty());
}

Model sum_with(const Tensor& weight) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}}).output("y").weight(weight);
  return graph.node("Add", {"x", weight.name}, {"y"}).model();
}

TEST(ValueEvidence, names_the_weights_that_are_read) {
  const Graph graph(sum_with(make_tensor("w", DType::f32, {1})));
  EXPECT_THAT(names_read(graph.region), ElementsAre("w"));
}

TEST(ValueEvidence, a_weight_behind_an_identity_has_two_names) {
  GraphBuilder graph;
  graph.weight(make_tensor("w", DType::f32, {1})).node("Identity", {"w"}, {"v"});
  graph.node("Add", {"x", "v"}, {"y"});
  EXPECT_THAT(names_read(Graph(graph).region), ElementsAre("v", "w"));
}

TEST(ValueEvidence, a_weight_is_blamed_where_it_is_read_or_belongs) {
  const Graph graph(sum_with(make_tensor("w", DType::f32, {1})));
  std::vector<ComparedWeight> compared = {
      {.parameter = "fc.weight", .module = "fc", .initializer = "w", .match = WeightMatch::exact}};
  EXPECT_FALSE(differing_weight(graph.region, compared, "fc"));
  compared[0].match = WeightMatch::unlike;
  EXPECT_THAT(text(differing_weight(graph.region, compared, "other")), HasSubstr("fc.weight"));
  EXPECT_THAT(text(differing_weight(Region{}, compared, "fc")), HasSubstr("fc.weight"));
  EXPECT_FALSE(differing_weight(Region{}, compared, "other"));
}

TEST(ValueEvidence, a_narrow_weight_behind_a_cast_is_low_precision) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}}).output("y").weight(make_tensor("w", DType::bf16, {1}));
  graph.node("Cast", {"w"}, {"v"}, {int_attribute("to", onnx_data_type(DType::f32))});
  graph.node("Add", {"x", "v"}, {"y"});
  EXPECT_EQ(text(low_precision(Graph(graph).region)), "w of node_1 is bfloat16");
}

TEST(ValueEvidence, float32_and_integers_are_not_low_precision) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}}).output("y");
  graph.node("Shape", {"x"}, {"s"}).node("Expand", {"x", "s"}, {"y"});
  EXPECT_FALSE(low_precision(Graph(graph).region));
}

TEST(ValueEvidence, a_constant_that_is_not_finite_is_named) {
  const Graph infinite(sum_with(tensor_of<float>("w", DType::f32, {1}, {INFINITY})));
  EXPECT_EQ(nonfinite_constant(infinite.region), "w");
  const Graph mask(sum_with(tensor_of<float>("w", DType::f32, {1}, {-INFINITY})));
  EXPECT_EQ(nonfinite_constant(mask.region), "");
  const Graph finite(sum_with(tensor_of<float>("w", DType::f32, {1}, {1})));
  EXPECT_EQ(nonfinite_constant(finite.region), "");
}

}  // namespace
}  // namespace vernier
