#include "vernier/analysis/check/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/check/checking.h"
#include "tests/fixture.h"

namespace vernier {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const Dim batch{-1, "batch"};
const Dim length{-1, "length"};

Model reshaped(const std::vector<std::int64_t>& shape, const std::vector<Dim>& output) {
  return GraphBuilder()
      .input("x", DType::f32, {batch, {2, ""}, {3, ""}})
      .weight(i64("shape", shape))
      .node("Reshape", {"x", "shape"}, {"r"})
      .node("Relu", {"r"}, {"y"})
      .output("y", DType::f32, output)
      .model();
}

TEST(DynamicAxes, a_reshape_to_the_size_of_the_example_freezes_the_batch) {
  EXPECT_EQ(told(check_saved(reshaped({1, 6}, {batch, {6, ""}})), "frozen-axis"),
            "node_1: 'batch' is declared dynamic, but size 2 fails in Reshape 'node_1', whose "
            "shape is the constant [1,6]");
  EXPECT_THAT(serious(check_saved(reshaped({-1, 6}, {batch, {6, ""}}))), IsEmpty());
  EXPECT_THAT(serious(check_saved(reshaped({0, 6}, {batch, {6, ""}}))), IsEmpty());
}

TEST(DynamicAxes, an_output_that_does_not_follow_is_frozen_too) {
  EXPECT_EQ(told(check_saved(reshaped({1, -1}, {batch, {-1, ""}})), "frozen-axis"),
            "node_1: with 'batch' of 2, output 'y' has the shape [1,12] and is declared [batch,?]: "
            "in Reshape 'node_1', whose shape is the constant [1,-1]");
}

TEST(DynamicAxes, an_output_that_is_always_empty_is_not_frozen) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {batch, {4, ""}})
                          .weight(i64("zero", {0}))
                          .node("Relu", {"x"}, {"y"})
                          .node("Slice", {"x", "zero", "zero", "zero"}, {"cache"})
                          .output("y", DType::f32, {batch, {4, ""}})
                          .output("cache", DType::f32, {batch, {4, ""}})
                          .model();
  EXPECT_EQ(told(check_saved(model), "frozen-axis"), "none");
}

// As a merged decoder writes the encoder's cache in the branch that leaves it as it was.
TEST(DynamicAxes, an_empty_output_freezes_none_of_its_axes) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {{1, ""}, length})
                          .weight(f32("nothing", {0, 1}, {}))
                          .node("Relu", {"x"}, {"y"})
                          .node("Identity", {"nothing"}, {"cache"})
                          .output("y", DType::f32, {{1, ""}, length})
                          .output("cache", DType::f32, {batch, length})
                          .model();
  EXPECT_EQ(told(check_saved(model), "frozen-axis"), "none");
}

TEST(DynamicAxes, a_batch_of_the_example_alone_is_found_from_other_sizes) {
  EXPECT_THAT(told(check_saved(reshaped({8, 6}, {batch, {6, ""}})), "frozen-axis"),
              AllOf(StartsWith("node_1: 'batch' is declared dynamic, but size 2 fails"),
                    HasSubstr("the constant [8,6]")));
}

TEST(DynamicAxes, an_expand_freezes_the_batch_behind_it) {
  const auto model = [](std::int64_t rows) {
    return GraphBuilder()
        .input("x", DType::f32, {batch, {2, ""}})
        .weight(filled("token", {1, 1}, 1))
        .weight(i64("shape", {rows, 1}))
        .node("Expand", {"token", "shape"}, {"tokens"})
        .node("Concat", {"tokens", "x"}, {"y"}, {int_attribute("axis", 1)})
        .output("y", DType::f32, {batch, {3, ""}})
        .model();
  };
  EXPECT_EQ(told(check_saved(model(1)), "frozen-axis"),
            "node_1: 'batch' is declared dynamic, but size 2 fails in Expand 'node_1', whose shape "
            "is the constant [1,1]");
}

Model positions(std::int64_t rows) {
  return GraphBuilder()
      .input("x", DType::f32, {batch, length, {2, ""}})
      .weight(filled("table", {1, rows, 2}, 1))
      .node("Add", {"x", "table"}, {"y"})
      .output("y", DType::f32, {batch, length, {2, ""}})
      .model();
}

TEST(DynamicAxes, a_position_table_freezes_the_length) {
  EXPECT_EQ(
      told(check_saved(positions(16)), "frozen-axis"),
      "node_1: 'length' is declared dynamic, but size 32 fails in Add 'node_1', which takes the "
      "constant 'table' of shape [1,16,2]");
  EXPECT_THAT(serious(check_saved(positions(1))), IsEmpty());
}

TEST(DynamicAxes, lengths_that_only_change_together_are_dynamic) {
  const Model model = GraphBuilder()
                          .input("a", DType::f32, {batch, {-1, "left"}})
                          .input("b", DType::f32, {batch, {-1, "right"}})
                          .weight(i64("two", {-1, 2}))
                          .node("Reshape", {"a", "two"}, {"ra"})
                          .node("Reshape", {"b", "two"}, {"rb"})
                          .node("Concat", {"ra", "rb"}, {"y"}, {int_attribute("axis", 1)})
                          .output("y", DType::f32, {{-1, ""}, {4, ""}})
                          .model();
  EXPECT_EQ(told(check_saved(model), "frozen-axis"), "none");
}

TEST(DynamicAxes, an_axis_that_refuses_some_sizes_is_not_frozen) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {batch, {3, ""}})
                          .weight(i64("pairs", {-1, 2, 3}))
                          .node("Reshape", {"x", "pairs"}, {"y"})
                          .output("y")
                          .model();
  EXPECT_THAT(serious(check_saved(model)), IsEmpty());
}

TEST(DynamicAxes, lengths_that_are_the_sum_of_others_fit_together) {
  GraphBuilder builder;
  builder.input("past", DType::f32, {{1, ""}, {-1, "past"}, {2, ""}})
      .input("x", DType::f32, {{1, ""}, {-1, "now"}, {2, ""}})
      .node("Concat", {"past", "x"}, {"all"}, {int_attribute("axis", 1)})
      .weight(filled("ones", {1, 1, 2}, 1))
      .node("Mul", {"mask", "ones"}, {"wide"})
      .node("Sub", {"all", "wide"}, {"y"})
      .output("y");
  for (const std::string name : {"past + now", "total"}) {
    GraphBuilder masked = builder;
    masked.input("mask", DType::f32, {{1, ""}, {-1, name}, {2, ""}});
    const Findings found = check_saved(masked.model());
    EXPECT_EQ(told(found, "not-run"), "none") << name;
    EXPECT_EQ(told(found, "frozen-axis"), "none") << name;
  }
}

TEST(DynamicAxes, rows_that_share_a_scale_by_design_are_only_noted) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {batch, {4, ""}})
                          .node("DynamicQuantizeLinear", {"x"}, {"q", "scale", "zero"})
                          .node("DequantizeLinear", {"q", "scale", "zero"}, {"d"})
                          .weight(f32("hundred", {}, {100}))
                          .node("Mul", {"d", "hundred"}, {"m"})
                          .node("Sin", {"m"}, {"y"})
                          .output("y", DType::f32, {batch, {4, ""}})
                          .model();
  const Findings found = only(check_saved(model), "mixed-batch");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::note);
  EXPECT_THAT(evidence_text(found[0]), HasSubstr("takes its scales from the whole batch"));
}

// ONNX Runtime fuses this into a kernel that reads as many scales as there are columns.
TEST(DynamicAxes, sizes_that_do_not_fit_together_are_not_given_to_fused_kernels) {
  const Model model = GraphBuilder()
                          .input("a", DType::f32, {{-1, "M"}, {-1, "K"}})
                          .input("b", DType::u8, {{-1, "K"}, {-1, "N"}})
                          .input("b_scale", DType::f32, {{-1, "C"}})
                          .input("bias", DType::f32, {{-1, "N"}})
                          .node("DynamicQuantizeLinear", {"a"}, {"q", "scale", "zero"})
                          .node("MatMulInteger", {"q", "b", "zero"}, {"i"})
                          .node("Cast", {"i"}, {"f"}, {int_attribute("to", 1)})
                          .node("Mul", {"scale", "b_scale"}, {"s"})
                          .node("Mul", {"f", "s"}, {"m"})
                          .node("Add", {"m", "bias"}, {"y"})
                          .output("y", DType::f32, {{-1, "M"}, {-1, "N"}})
                          .model();
  EXPECT_THAT(serious(check_saved(model)), IsEmpty());
}

TEST(DynamicAxes, unnamed_axes_of_several_inputs_may_go_together_in_any_way) {
  const auto model = [](const Dim& rows) {
    return GraphBuilder()
        .input("x", DType::f32, {rows, {4, ""}})
        .input("state", DType::f32, {{2, ""}, rows, {4, ""}})
        .node("Add", {"x", "state"}, {"sum"})
        .node("Concat", {"sum", "state"}, {"y"}, {int_attribute("axis", 0)})
        .output("y")
        .model();
  };
  EXPECT_EQ(told(check_saved(model({-1, ""})), "frozen-axis"), "none");
  EXPECT_EQ(told(check_saved(model({-1, "rows"})), "frozen-axis"), "none");
}

TEST(DynamicAxes, rows_that_influence_each_other_are_mixed) {
  const auto model = [](std::int64_t axis) {
    return GraphBuilder()
        .input("x", DType::f32, {batch, {4, ""}})
        .node("ReduceMean", {"x"}, {"m"}, {ints_attribute("axes", {axis})})
        .node("Sub", {"x", "m"}, {"y"})
        .output("y", DType::f32, {batch, {4, ""}})
        .model();
  };
  EXPECT_THAT(told(check_saved(model(0)), "mixed-batch"),
              StartsWith("y: with 'batch' of 2, row 0 of the output is only"));
  EXPECT_THAT(serious(check_saved(model(1))), IsEmpty());
}

TEST(DynamicAxes, steps_of_a_recurrent_operator_are_no_batch) {
  const Model model =
      GraphBuilder()
          .input("x", DType::f32, {{-1, "steps"}, {2, ""}})
          .input("h", DType::f32, {{1, ""}, {1, ""}, {2, ""}})
          .weight(tensor_of<std::int64_t>("axis", DType::i64, {1}, {1}))
          .weight(filled("w", {1, 2, 2}, 0.5F))
          .weight(filled("r", {1, 2, 2}, 0.5F))
          .weight(filled("b", {1, 4}, 0.1F))
          .weight(tensor_of<std::int64_t>("rows", DType::i64, {2}, {-1, 2}))
          .node("Unsqueeze", {"x", "axis"}, {"u"})
          .node("RNN", {"u", "w", "r", "b", "", "h"}, {"all"}, {int_attribute("hidden_size", 2)})
          .node("Reshape", {"all", "rows"}, {"y"})
          .output("y", DType::f32, {{-1, "steps"}, {2, ""}})
          .model();
  const Findings found = check_saved(model);
  EXPECT_EQ(told(found, "mixed-batch"), "none");
  EXPECT_EQ(told(found, "not-run"), "none");
}

TEST(DynamicAxes, rows_of_a_random_model_cannot_be_compared) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {batch, {4, ""}})
                          .node("RandomNormalLike", {"x"}, {"y"})
                          .output("y", DType::f32, {batch, {4, ""}})
                          .model();
  const Findings found = check_saved(model);
  EXPECT_EQ(only(found, "nondeterministic").size(), 1u);
  EXPECT_EQ(told(found, "mixed-batch"), "none");
}

Model fixed(std::int64_t rows, const std::vector<std::int64_t>& shape) {
  return GraphBuilder()
      .input("x", DType::f32, {{rows, ""}, {6, ""}})
      .weight(i64("shape", shape))
      .node("Reshape", {"x", "shape"}, {"y"})
      .output("y", DType::f32, {{rows, ""}, {2, ""}, {3, ""}})
      .model();
}

TEST(DynamicAxes, a_batch_that_is_fixed_for_no_reason_is_found) {
  EXPECT_EQ(told(check_saved(fixed(1, {-1, 2, 3})), "fixed-batch"),
            "x: its batch is declared as 1, and the graph runs with 2 too");
  EXPECT_EQ(told(check_saved(fixed(3, {-1, 2, 3})), "fixed-batch"),
            "x: its batch is declared as 3, and the graph runs with 6 too");
}

TEST(DynamicAxes, a_batch_that_the_graph_needs_is_left_alone) {
  EXPECT_THAT(serious(check_saved(fixed(1, {1, 2, 3}))), IsEmpty());
}

Model tokens(std::int64_t rows, const std::vector<std::int64_t>& shape) {
  return GraphBuilder()
      .input("ids", DType::i64, {batch, {16, ""}})
      .weight(filled("words", {10, 2}, 1))
      .weight(filled("table", {1, rows, 2}, 1))
      .weight(i64("shape", shape))
      .node("Gather", {"words", "ids"}, {"w"})
      .node("Add", {"w", "table"}, {"s"})
      .node("Reshape", {"s", "shape"}, {"y"})
      .output("y", DType::f32, {batch, {32, ""}})
      .model();
}

TEST(DynamicAxes, a_length_that_is_fixed_for_no_reason_is_a_note) {
  const Findings found = check_saved(tokens(1, {0, -1}));
  EXPECT_EQ(told(found, "fixed-sequence"),
            "ids: its length is declared as 16, and the graph runs with 8 too");
  EXPECT_THAT(serious(found), IsEmpty());
  EXPECT_EQ(told(check_saved(tokens(16, {0, -1})), "fixed-sequence"), "none");
}

TEST(DynamicAxes, a_fixed_length_of_features_is_a_note_too) {
  const auto features = [](const std::vector<std::int64_t>& shape) {
    return GraphBuilder()
        .input("x", DType::f32, {batch, {16, ""}, {4, ""}})
        .weight(i64("shape", shape))
        .node("Relu", {"x"}, {"r"})
        .node("Reshape", {"r", "shape"}, {"y"})
        .output("y")
        .model();
  };
  EXPECT_EQ(told(check_saved(features({0, -1, 4})), "fixed-sequence"),
            "x: its length is declared as 16, and the graph runs with 8 too");
  EXPECT_EQ(told(check_saved(features({-1, 16, 4})), "fixed-sequence"), "none");
}

TEST(DynamicAxes, real_exports_are_as_dynamic_as_they_say) {
  for (const char* name : {"mnist/mnist_cnn.onnx", "mnist/mnist_vit.onnx",
                           "mnist/mnist_cnn.int8.onnx", "mnist/mnist_vit.int8.onnx"})
    EXPECT_THAT(serious(check(fixture(name)).findings), IsEmpty()) << name;
}

}  // namespace
}  // namespace vernier
