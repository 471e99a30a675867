#include "vernier/analysis/layers/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"
#include "vernier/report/layers.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;

// x -> Conv a -> Relu b -> LayerNormalization y
GraphBuilder chain() {
  vernier_onnx::AttributeProto epsilon;
  epsilon.set_name("epsilon");
  epsilon.set_type(vernier_onnx::AttributeProto::FLOAT);
  epsilon.set_f(1e-3F);
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}, {1}, {2}, {2}}).output("y");
  graph.weight(tensor_of<float>("conv.weight", DType::f32, {1, 1, 1, 1}, {1}));
  graph.weight(tensor_of<float>("norm.weight", DType::f32, {2}, {1, 1}));
  graph.node("Conv", {"x", "conv.weight"}, {"a"}).node("Relu", {"a"}, {"b"});
  graph.node("LayerNormalization", {"b", "norm.weight"}, {"y"}, {epsilon});
  return graph;
}

LayerRow row(const std::string& layer, const std::string& type, const std::string& tensor) {
  return {.layer = layer,
          .type = type,
          .tensor = tensor,
          .match = Match::scope,
          .compared = true,
          .max_abs_diff = 0,
          .sqnr_db = 200};
}

LayerRow exceeding(LayerRow row, std::optional<double> introduced) {
  row.exceeds = true;
  row.max_abs_diff = 1;
  row.sqnr_db = 10;
  row.introduced_max_abs_diff = introduced;
  return row;
}

// A diagnosis as a report tells it.
struct Told {
  Cause cause = Cause::none;
  std::string detail;
  bool operator==(const Told&) const = default;
};

Told told(std::vector<LayerRow> rows, std::size_t index, const DiagnoseOptions& options) {
  const Diagnosis found = diagnose(rows, options)[index];
  rows[index].evidence = found.evidence;
  return {found.cause, describe_evidence(rows[index], rows)};
}

class DiagnoseChain : public ::testing::Test {
 protected:
  DiagnoseChain()
      : rows({row("conv", "Conv2d", "a"), row("relu", "ReLU", "b"),
              row("norm", "LayerNorm", "y")}) {}

  Told diagnose_row(std::size_t index) {
    const Model candidate = graph.model();
    const ModelIndex models(candidate);
    return told(
        rows, index,
        {.candidate = &models, .leaves = leaves, .weights = weights, .run_changed = run_changed});
  }

  // A run of any changed graph introduces so much error at the row.
  void corrections_leave(std::size_t row, IntroducedError error) {
    run_changed = [=](std::span<const LayerRow> all, const Model&) {
      std::vector<std::optional<IntroducedError>> errors(all.size());
      errors[row] = error;
      return errors;
    };
  }

  GraphBuilder graph = chain();
  std::vector<LayerRow> rows;
  std::vector<WatchedTensor> leaves;
  std::vector<ComparedWeight> weights;
  RunChanged run_changed;
};

TEST_F(DiagnoseChain, a_row_within_tolerance_has_no_cause) { EXPECT_EQ(diagnose_row(0), Told()); }

TEST_F(DiagnoseChain, a_weight_that_differs_comes_first) {
  weights = {{.parameter = "conv.weight",
              .module = "conv",
              .initializer = "conv.weight",
              .match = WeightMatch::differs,
              .elements = 1,
              .difference = {.differing = 1, .first = 0, .max_abs_diff = 0.5}}};
  rows[0] = exceeding(rows[0], 1.0);
  EXPECT_EQ(diagnose_row(0).cause, Cause::weight_bit_mismatch);
  EXPECT_EQ(diagnose_row(0).detail,
            "conv.weight is not what initializer conv.weight holds: 1 of 1 elements differ, the "
            "first at 0, by up to 0.5");
}

TEST_F(DiagnoseChain, another_epsilon_is_the_cause_only_where_the_references_makes_it_right) {
  leaves = {{.name = "norm", .type = "LayerNorm", .constants = {{"eps", 1e-5}}}};
  rows[2] = exceeding(rows[2], 1.0);
  corrections_leave(2, {.max_abs_diff = 1e-6, .sqnr_db = 120});
  EXPECT_EQ(diagnose_row(2).cause, Cause::attribute_mismatch);
  corrections_leave(2, {.max_abs_diff = 0.99, .sqnr_db = 10.1});
  EXPECT_EQ(diagnose_row(2).cause, Cause::op_implementation);
}

TEST_F(DiagnoseChain, a_training_mode_comes_before_weights_where_it_makes_most_of_the_error) {
  graph = GraphBuilder();
  graph.input("x", DType::f32, {{1}, {1}, {2}, {2}}).output("y");
  for (const char* name : {"norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"})
    graph.weight(tensor_of<float>(name, DType::f32, {1}, {1}));
  graph.node("Relu", {"x"}, {"a"}).node("Relu", {"a"}, {"b"});
  graph.node("BatchNormalization",
             {"b", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"},
             {"y", "mean", "variance"}, {int_attribute("training_mode", 1)});
  rows[2] = exceeding(row("norm", "BatchNorm2d", "y"), 1.0);
  rows[2].introduced_sqnr_db = 5;
  weights = {{.parameter = "norm.running_mean",
              .module = "norm",
              .initializer = "norm.running_mean",
              .match = WeightMatch::differs,
              .elements = 1,
              .difference = {.differing = 1, .first = 0, .max_abs_diff = 0.03}}};
  corrections_leave(2, {.max_abs_diff = 0.03, .sqnr_db = 25});
  EXPECT_EQ(diagnose_row(2).cause, Cause::missing_or_extra_op);
  EXPECT_THAT(diagnose_row(2).detail, HasSubstr("computes as in training"));
  corrections_leave(2, {.max_abs_diff = 0.9, .sqnr_db = 6});
  EXPECT_EQ(diagnose_row(2).cause, Cause::weight_bit_mismatch);
}

TEST_F(DiagnoseChain, a_weight_that_does_no_harm_is_not_blamed) {
  weights = {{.parameter = "norm.weight",
              .module = "norm",
              .initializer = "norm.weight",
              .match = WeightMatch::differs}};
  rows[0] = exceeding(rows[0], 1.0);
  rows[2] = exceeding(rows[2], 1e-6);
  EXPECT_EQ(diagnose_row(2).cause, Cause::inherited);
}

TEST_F(DiagnoseChain, a_layout_is_told) {
  rows[1] = exceeding(rows[1], 1.0);
  rows[1].layout = LayerLayout{{{0, 2, 3, 1}, 100}, "NCHW to NHWC, permutation (0,2,3,1)"};
  EXPECT_EQ(diagnose_row(1).cause, Cause::layout_mismatch);
  EXPECT_THAT(diagnose_row(1).detail, HasSubstr("NCHW to NHWC"));
}

TEST_F(DiagnoseChain, a_layer_without_a_counterpart_is_missing) {
  rows[1] = exceeding({.layer = "relu", .type = "ReLU"}, std::nullopt);
  EXPECT_EQ(diagnose_row(1).cause, Cause::missing_or_extra_op);
}

TEST_F(DiagnoseChain, a_layer_that_does_nothing_is_not_missing) {
  rows[1] = exceeding({.layer = "drop", .type = "Dropout"}, std::nullopt);
  EXPECT_EQ(diagnose_row(1).cause, Cause::unknown);
  rows[2] = exceeding(rows[2], 1.0);
  EXPECT_EQ(diagnose_row(1), (Told{Cause::op_implementation,
                                   "at norm: on the reference's inputs it is still 1 off: "
                                   "computed by Relu, LayerNormalization"}));
}

TEST_F(DiagnoseChain, a_layer_whose_node_helps_to_compute_the_next_is_not_missing) {
  graph.graph().mutable_node(0)->set_name("/conv/Conv");
  rows[0] = exceeding({.layer = "conv", .type = "Conv2d"}, std::nullopt);
  EXPECT_EQ(diagnose_row(0).cause, Cause::unknown);
}

TEST_F(DiagnoseChain, what_follows_a_missing_layer_has_its_difference_from_there) {
  rows[1] = exceeding({.layer = "relu", .type = "ReLU"}, std::nullopt);
  rows[2] = exceeding(rows[2], 1.0);
  EXPECT_EQ(diagnose_row(2), (Told{Cause::inherited, "it follows relu, which is missing"}));
}

TEST_F(DiagnoseChain, an_operator_that_does_not_do_what_the_layer_does_is_missing) {
  graph.graph().mutable_node(1)->set_op_type("Identity");
  rows[1] = exceeding(rows[1], 1.0);
  EXPECT_EQ(diagnose_row(1).cause, Cause::missing_or_extra_op);
  EXPECT_EQ(diagnose_row(1).detail, "no operator computes the ReLU: there is only Identity");
}

TEST_F(DiagnoseChain, a_layer_that_reads_a_later_one_is_out_of_place) {
  std::swap(rows[0], rows[1]);
  rows[0] = exceeding(rows[0], 1.0);
  EXPECT_EQ(diagnose_row(0).cause, Cause::missing_or_extra_op);
  EXPECT_EQ(diagnose_row(0).detail, "it reads conv, which the reference computes after it");
}

TEST_F(DiagnoseChain, a_float16_tensor_on_the_way_loses_precision) {
  GraphBuilder casts;
  casts.input("x", DType::f32, {{1}}).output("a");
  casts.node("Cast", {"x"}, {"half"}, {int_attribute("to", onnx_data_type(DType::f16))});
  casts.node("Cast", {"half"}, {"a"}, {int_attribute("to", onnx_data_type(DType::f32))});
  casts.node("Relu", {"a"}, {"b"});
  graph = casts;
  rows = {exceeding(row("cast", "", "a"), 1.0), exceeding(row("relu", "ReLU", "b"), 1e-7)};
  EXPECT_EQ(diagnose_row(0).cause, Cause::precision_loss);
  EXPECT_THAT(diagnose_row(0).detail, HasSubstr("half of node_"));
  EXPECT_EQ(diagnose_row(1).cause, Cause::inherited);
}

TEST_F(DiagnoseChain, nan_is_told_where_it_appears_and_inherited_after_it) {
  graph.graph().mutable_initializer(0)->CopyFrom(
      make_tensor_proto(tensor_of<float>("conv.weight", DType::f32, {1, 1, 1, 1}, {NAN})));
  rows[0] = exceeding(rows[0], NAN);
  rows[0].candidate_nan = 4;
  rows[1] = exceeding(rows[1], 0.0);
  rows[1].candidate_nan = 4;
  EXPECT_EQ(diagnose_row(0).cause, Cause::nonfinite);
  EXPECT_THAT(diagnose_row(0).detail, HasSubstr("constant conv.weight is not finite"));
  EXPECT_EQ(diagnose_row(1).cause, Cause::inherited);
}

TEST_F(DiagnoseChain, infinity_that_the_layers_behind_absorb_is_no_cause) {
  rows[0] = exceeding(rows[0], INFINITY);
  rows[0].candidate_inf = 4;
  EXPECT_NE(diagnose_row(0).cause, Cause::nonfinite);
  rows[1] = exceeding(rows[1], 0.0);
  EXPECT_EQ(diagnose_row(0).cause, Cause::nonfinite);
}

TEST_F(DiagnoseChain, with_the_truth_a_small_error_is_rounding) {
  rows[0] = exceeding(rows[0], 1.0);
  rows[0].truth = LayerTruth{.error_reference = 1e-4, .error_candidate = 3.9e-4, .ratio = 3.9};
  EXPECT_EQ(diagnose_row(0).cause, Cause::rounding);
  rows[0].truth->error_candidate = 4.1e-4;
  EXPECT_EQ(diagnose_row(0).cause, Cause::op_implementation);
}

TEST_F(DiagnoseChain, another_epsilon_is_another_attribute) {
  leaves = {{.name = "norm", .type = "LayerNorm", .constants = {{"eps", 1e-5}}}};
  rows[2] = exceeding(rows[2], 0.5);
  EXPECT_EQ(diagnose_row(2).cause, Cause::attribute_mismatch);
  EXPECT_EQ(diagnose_row(2).detail,
            "on the reference's inputs it is still 0.5 off: eps of node_3 is 0.001 in the "
            "candidate, 1e-05 in the reference");
}

TEST_F(DiagnoseChain, another_bound_or_factor_is_another_attribute) {
  leaves = {{.name = "norm", .type = "Hardtanh", .constants = {{"min_val", -1}, {"max_val", 4}}}};
  graph = GraphBuilder();
  graph.input("x", DType::f32, {{1}}).output("y");
  graph.weight(tensor_of<float>("low", DType::f32, {}, {-1}));
  graph.weight(tensor_of<float>("high", DType::f32, {}, {6}));
  graph.node("Relu", {"x"}, {"a"}).node("Relu", {"a"}, {"b"});
  graph.node("Clip", {"b", "low", "high"}, {"y"});
  rows[2] = exceeding(row("norm", "Hardtanh", "y"), 0.5);
  EXPECT_EQ(diagnose_row(2).cause, Cause::attribute_mismatch);
  EXPECT_THAT(diagnose_row(2).detail,
              HasSubstr("max_val of node_3 is 6 in the candidate, 4 in the reference"));
  leaves = {{.name = "norm", .type = "CELU", .constants = {{"alpha", 1.3}}}};
  graph.graph().mutable_node(2)->set_op_type("Celu");
  EXPECT_THAT(diagnose_row(2).detail,
              HasSubstr("alpha of node_3 is 1 in the candidate, 1.3 in the reference"));
}

TEST_F(DiagnoseChain, a_difference_is_inherited_from_the_nearest_layer_before) {
  rows[0] = exceeding(rows[0], 1.0);
  rows[2] = exceeding(rows[2], 1e-6);
  EXPECT_EQ(diagnose_row(2),
            (Told{Cause::inherited, "by itself it is 1e-06 off; it is computed from conv"}));
}

TEST_F(DiagnoseChain, an_operator_between_layers_is_blamed_once) {
  graph.node("Neg", {"b"}, {"z"});
  rows = {row("conv", "Conv2d", "a"), exceeding(row("norm", "", "y"), 1.0),
          exceeding(row("other", "", "z"), 1.0)};
  EXPECT_EQ(diagnose_row(1).cause, Cause::op_implementation);
  EXPECT_EQ(diagnose_row(2),
            (Told{Cause::inherited,
                  "node_2 is on the way to it and to norm, which is out of tolerance"}));
}

TEST_F(DiagnoseChain, an_elided_layer_inherits_from_the_owner_of_its_tensor) {
  rows[0] = exceeding(rows[0], 1.0);
  rows.insert(rows.begin() + 1, exceeding(row("dropout", "Dropout", "a"), 1.0));
  EXPECT_EQ(diagnose_row(1),
            (Told{Cause::inherited, "its tensor is that of conv, which is out of tolerance"}));
}

TEST_F(DiagnoseChain, what_only_added_up_is_unknown_without_the_truth) {
  rows[2] = exceeding(rows[2], 1e-5);
  rows[2].sqnr_db = 110;
  EXPECT_EQ(diagnose_row(2).cause, Cause::unknown);
  EXPECT_THAT(diagnose_row(2).detail, HasSubstr("--truth fp64"));
}

TEST_F(DiagnoseChain, a_layer_on_the_way_is_blamed_though_it_is_within_tolerance) {
  weights = {{.parameter = "conv.weight",
              .module = "conv",
              .initializer = "conv.weight",
              .match = WeightMatch::differs}};
  rows[2] = exceeding(rows[2], 1e-6);
  EXPECT_EQ(diagnose_row(2).cause, Cause::weight_bit_mismatch);
  EXPECT_THAT(diagnose_row(2).detail, HasSubstr("at conv: conv.weight"));
}

TEST_F(DiagnoseChain, a_tensor_that_lacks_a_part_of_its_layer_is_not_judged_by_its_run) {
  graph.weight(tensor_of<float>("conv.bias", DType::f32, {1}, {1}));
  graph.graph().mutable_node(1)->set_op_type("Add");
  graph.graph().mutable_node(1)->add_input("conv.bias");
  weights = {{.parameter = "conv.bias",
              .module = "conv",
              .initializer = "conv.bias",
              .match = WeightMatch::exact}};
  rows[0] = exceeding(rows[0], 1.0);
  rows[1] = exceeding(row("relu", "", "b"), 1.0);
  EXPECT_EQ(diagnose_row(0).cause, Cause::unknown);
  EXPECT_EQ(diagnose_row(1).cause, Cause::inherited);
}

TEST(Diagnose, without_a_graph_the_layer_above_is_blamed) {
  std::vector<LayerRow> rows = {exceeding(row("a", "", "a"), std::nullopt),
                                exceeding(row("b", "", "b"), std::nullopt)};
  const auto diagnoses = diagnose(rows, {});
  EXPECT_EQ(diagnoses[0].cause, Cause::unknown);
  EXPECT_EQ(diagnoses[1].cause, Cause::inherited);
  rows[1].candidate_nan = 1;
  EXPECT_EQ(diagnose(rows, {})[1].cause, Cause::nonfinite);
}

// Two ONNX models, with one tensor out of tolerance.
Told diagnose_onnx(const GraphBuilder& reference, const GraphBuilder& candidate) {
  const Model reference_model = reference.model();
  const Model candidate_model = candidate.model();
  const std::vector<LayerRow> rows = {exceeding(row("y", "", "y"), 1.0)};
  const ModelIndex reference_index(reference_model), candidate_index(candidate_model);
  return told(rows, 0, {.candidate = &candidate_index, .reference = &reference_index});
}

TEST(Diagnose, operators_that_one_model_lacks_are_named) {
  GraphBuilder without = chain();
  without.graph().mutable_node(2)->set_input(0, "a");
  EXPECT_EQ(diagnose_onnx(chain(), without),
            (Told{Cause::missing_or_extra_op, "the reference has Relu more"}));
  EXPECT_EQ(diagnose_onnx(without, chain()).detail, "the candidate has Relu more");
}

TEST(Diagnose, attributes_that_two_models_set_differently_are_named) {
  GraphBuilder other = chain();
  other.graph().mutable_node(2)->mutable_attribute(0)->set_f(1e-5F);
  EXPECT_EQ(diagnose_onnx(chain(), other).cause, Cause::attribute_mismatch);
  EXPECT_THAT(diagnose_onnx(chain(), other).detail,
              HasSubstr("epsilon of node_3 is 1e-05 in the candidate, 0.001 in the reference"));
}

TEST(Diagnose, a_scalar_that_two_models_add_differently_is_named) {
  const auto sum = [](float number) {
    GraphBuilder graph;
    graph.input("x", DType::f32, {{1}}).output("y");
    graph.weight(tensor_of<float>("number", DType::f32, {}, {number}));
    graph.node("Add", {"x", "number"}, {"y"});
    return graph;
  };
  const Told found = diagnose_onnx(sum(1e-6F), sum(0.01F));
  EXPECT_EQ(found.cause, Cause::attribute_mismatch);
  EXPECT_THAT(found.detail,
              HasSubstr("operand 1 of node_1 is 0.01 in the candidate, 1e-06 in the reference"));
}

TEST(Diagnose, training_mode_is_an_extra_operator) {
  GraphBuilder dropout;
  dropout.input("x", DType::f32, {{1}}).output("y");
  dropout.weight(tensor_of<float>("ratio", DType::f32, {}, {0.5F}));
  dropout.weight(tensor_of<std::uint8_t>("training", DType::boolean, {}, {1}));
  dropout.node("Dropout", {"x", "ratio", "training"}, {"y"});
  GraphBuilder norm;
  norm.input("x", DType::f32, {{1}, {1}}).output("y");
  norm.weight(tensor_of<float>("one", DType::f32, {1}, {1}));
  norm.node("BatchNormalization", {"x", "one", "one", "one", "one"}, {"y"},
            {int_attribute("training_mode", 1)});
  for (const GraphBuilder& graph : {dropout, norm}) {
    const Told found = diagnose_onnx(graph, graph);
    EXPECT_EQ(found.cause, Cause::missing_or_extra_op);
    EXPECT_THAT(found.detail, HasSubstr("node_1 computes as in training"));
  }
}

TEST(Diagnose, a_pair_that_the_reference_has_not_is_no_extra_operator) {
  GraphBuilder reference, candidate;
  for (GraphBuilder* graph : {&reference, &candidate})
    graph->input("x", DType::f32, {{1}}).output("y");
  reference.node("Neg", {"x"}, {"y"});
  candidate.weight(tensor_of<float>("scale", DType::f32, {}, {1}));
  candidate.node("QuantizeLinear", {"x", "scale"}, {"q"})
      .node("DequantizeLinear", {"q", "scale"}, {"d"})
      .node("Neg", {"d"}, {"y"});
  EXPECT_EQ(diagnose_onnx(reference, candidate).cause, Cause::precision_loss);
}

TEST_F(DiagnoseChain, a_relu_that_a_quantizer_has_taken_in_is_not_missing) {
  graph.weight(tensor_of<float>("scale", DType::f32, {}, {1}));
  graph.graph().mutable_node(1)->set_op_type("QuantizeLinear");
  graph.graph().mutable_node(1)->add_input("scale");
  rows[1] = exceeding(rows[1], 1.0);
  EXPECT_EQ(diagnose_row(1).cause, Cause::precision_loss);
}

TEST(Diagnose, a_quantized_operator_loses_precision) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}}).output("y");
  graph.weight(tensor_of<float>("scale", DType::f32, {}, {1}));
  graph.node("QuantizeLinear", {"x", "scale"}, {"q"})
      .node("DequantizeLinear", {"q", "scale"}, {"y"});
  EXPECT_EQ(diagnose_onnx(graph, graph).cause, Cause::precision_loss);
}

}  // namespace
}  // namespace vernier
