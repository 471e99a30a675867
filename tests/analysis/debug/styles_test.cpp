// One small model for each way of quantizing activations, with numbers computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/debug/debugging.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// y = -|x|, with |x| on a quantizer of step 1.
GraphBuilder float_abs() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4, ""}}).output("y", DType::f32, {{4, ""}});
  builder.node("Abs", {"x"}, {"a"}).node("Neg", {"a"}, {"y"});
  return builder;
}

GraphBuilder quantized_abs(DType dtype, const std::string& domain = "") {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4, ""}}).output("y", DType::f32, {{4, ""}});
  builder.weight(scalar("s", 1)).weight(make_tensor("z", dtype, {}));
  builder.node("Abs", {"x"}, {"a"});
  builder.node("QuantizeLinear", {"a", "s", "z"}, {"q"}, {}, domain);
  builder.node("DequantizeLinear", {"q", "s", "z"}, {"d"}, {}, domain);
  builder.node("Neg", {"d"}, {"y"});
  return builder;
}

const std::vector<float> abs_input = {-1, 2.25F, 3, -4};  // 2.25 becomes 2
const double abs_db = decibels(1 + 2.25 * 2.25 + 9 + 16, 0.25 * 0.25);

void expect_abs(const Model& quantized) {
  const DebugResult result = debug_on(float_abs().model(), quantized, {floats("x", abs_input)});
  ASSERT_THAT(result.activations, SizeIs(1));
  EXPECT_NEAR(*result.activations[0].local_sqnr_db, abs_db, 1e-9);
  EXPECT_NEAR(*result.activations[0].cumulative_sqnr_db, abs_db, 1e-9);
  EXPECT_NEAR(*result.activations[0].introduced_sqnr_db, abs_db, 1e-9);
  EXPECT_NEAR(*result.model_outputs[0].cumulative_sqnr_db, abs_db, 1e-9);
}

TEST(DebugStyles, eight_bits_in_every_operator_set) {
  for (const int opset : {10, 13, 19, 21}) {
    SCOPED_TRACE(opset);
    expect_abs(quantized_abs(DType::i8).model(opset, opset < 19 ? 8 : 10));
    expect_abs(quantized_abs(DType::u8).model(opset, opset < 19 ? 8 : 10));
  }
}

TEST(DebugStyles, microsofts_operators_with_sixteen_bits) {
  expect_abs(with_contrib(quantized_abs(DType::u8, "com.microsoft")));
  expect_abs(with_contrib(quantized_abs(DType::i16, "com.microsoft")));
  expect_abs(with_contrib(quantized_abs(DType::u16, "com.microsoft")));
}

TEST(DebugStyles, sixteen_and_four_bits_of_opset_21) {
  for (const DType dtype : {DType::i16, DType::u16, DType::i4, DType::u4}) {
    SCOPED_TRACE(dtype_name(dtype));
    expect_abs(quantized_abs(dtype).model(21, 10));
  }
}

// Three bits of mantissa: 2.3 becomes 2.25, and the rest is exact.
TEST(DebugStyles, float8_rounds_to_its_mantissa) {
  const DebugResult result =
      debug_on(float_abs().model(), quantized_abs(DType::f8e4m3fn).model(19, 10),
               {floats("x", {1, 2.3F, 3, 4})});
  const double noise = std::pow(double{2.3F} - 2.25, 2);
  const double signal = 1 + double{2.3F} * double{2.3F} + 9 + 16;
  ASSERT_THAT(result.activations, SizeIs(1));
  EXPECT_NEAR(*result.activations[0].local_sqnr_db, decibels(signal, noise), 1e-6);
  EXPECT_NEAR(*result.activations[0].introduced_sqnr_db, decibels(signal, noise), 1e-6);
  EXPECT_FALSE(result.activations[0].noise);
}

TEST(DebugStyles, zeros_are_exact) {
  const DebugResult result =
      debug_on(float_abs().model(), quantized_abs(DType::u8).model(), {floats("x", {0, 0, 0, 0})});
  EXPECT_EQ(*result.activations[0].local_sqnr_db, INFINITY);
  EXPECT_EQ(result.activations[0].verdict, DamageVerdict::exact);
}

TEST(DebugStyles, a_pair_for_each_reader_is_one_row) {
  GraphBuilder reference = float_abs(), candidate = quantized_abs(DType::u8);
  candidate.node("QuantizeLinear", {"a", "s", "z"}, {"q2"})
      .node("DequantizeLinear", {"q2", "s", "z"}, {"a_DequantizeLinear_Output_1"})
      .node("Sign", {"a_DequantizeLinear_Output_1"}, {"t"});
  for (GraphBuilder* builder : {&reference, &candidate}) builder->output("t");
  reference.node("Sign", {"a"}, {"t"});
  const DebugResult result =
      debug_on(reference.model(), candidate.model(), {floats("x", abs_input)});
  ASSERT_THAT(result.activations, SizeIs(1));
  EXPECT_NEAR(*result.activations[0].local_sqnr_db, abs_db, 1e-9);
  EXPECT_THAT(result.model_outputs, SizeIs(2));
}

GraphBuilder if_graph(bool quantized) {
  GraphBuilder branch("branch");
  branch.node("Abs", {"x"}, {"a"});
  if (quantized)
    branch.node("QuantizeLinear", {"a", "s", "z"}, {"q"})
        .node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  branch.node("Neg", {quantized ? "d" : "a"}, {"r"}).output("r", DType::f32, {{4, ""}});
  GraphBuilder other("other");
  other.node("Identity", {"x"}, {"same"}).output("same", DType::f32, {{4, ""}});
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4, ""}}).input("c", DType::boolean, {});
  builder.weight(scalar("s", 1)).weight(make_tensor("z", DType::u8, {}));
  builder.node("If", {"c"}, {"y"},
               {graph_attribute("then_branch", branch), graph_attribute("else_branch", other)});
  builder.output("y", DType::f32, {{4, ""}});
  return builder;
}

TEST(DebugStyles, a_branch_is_measured_when_it_runs) {
  const Tensor yes = tensor_of<bool>("c", DType::boolean, {}, {true});
  const DebugResult result =
      debug_on(if_graph(false).model(), if_graph(true).model(), {floats("x", abs_input), yes});
  ASSERT_THAT(result.activations, SizeIs(1));
  EXPECT_NEAR(*result.activations[0].local_sqnr_db, abs_db, 1e-9);
  EXPECT_NEAR(*result.activations[0].cumulative_sqnr_db, abs_db, 1e-9);
  const Tensor no = tensor_of<bool>("c", DType::boolean, {}, {false});
  const DebugResult passed_over =
      debug_on(if_graph(false).model(), if_graph(true).model(), {floats("x", abs_input), no});
  EXPECT_EQ(passed_over.activations[0].local_sqnr_db, std::nullopt);
  EXPECT_EQ(passed_over.activations[0].verdict, DamageVerdict::unmatched);
}

// Each turn adds x; the sum is put on a quantizer of step 1.
GraphBuilder loop_graph(bool quantized) {
  GraphBuilder subgraph("body");
  subgraph.input("i", DType::i64, {})
      .input("go", DType::boolean, {})
      .input("sum", DType::f32, {{2, ""}});
  subgraph.node("Add", {"sum", "x"}, {"a"});
  if (quantized)
    subgraph.node("QuantizeLinear", {"a", "s", "z"}, {"q"})
        .node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  subgraph.node("Identity", {quantized ? "d" : "a"}, {"next"}).node("Identity", {"go"}, {"go_on"});
  subgraph.output("go_on", DType::boolean, {}).output("next", DType::f32, {{2, ""}});
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2, ""}}).output("y", DType::f32, {{2, ""}});
  builder.weight(tensor_of<std::int64_t>("n", DType::i64, {}, {2}));
  builder.weight(tensor_of<bool>("yes", DType::boolean, {}, {true}));
  builder.weight(scalar("s", 1)).weight(make_tensor("z", DType::u8, {}));
  builder.node("Loop", {"n", "yes", "x"}, {"y"}, {graph_attribute("body", subgraph)});
  return builder;
}

TEST(DebugStyles, every_turn_of_a_loop_is_pooled) {
  const DebugResult result =
      debug_on(loop_graph(false).model(), loop_graph(true).model(), {floats("x", {1.125F, 8})});
  // Float: 2.25, 3.375. Quantized: 2.25 becomes 2; 2 + 1.125 becomes 3.
  const double eights = 16 * 16 + 24 * 24;
  ASSERT_THAT(result.activations, SizeIs(1));
  EXPECT_NEAR(*result.activations[0].local_sqnr_db,
              decibels(2.25 * 2.25 + 3.125 * 3.125 + eights, 0.25 * 0.25 + 0.125 * 0.125), 1e-9);
  EXPECT_NEAR(*result.activations[0].cumulative_sqnr_db,
              decibels(2.25 * 2.25 + 3.375 * 3.375 + eights, 0.25 * 0.25 + 0.375 * 0.375), 1e-9);
}

// a = 2x, and a Relu or Clip behind it that the quantized model leaves to the quantizer of step 1.
GraphBuilder folded(bool quantized, const std::string& op, float slope) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4, ""}}).output("y", DType::f32, {{4, ""}});
  builder.weight(scalar("two", slope)).weight(scalar("s", 1));
  builder.weight(make_tensor("z", DType::u8, {})).weight(scalar("low", 0));
  builder.weight(scalar("high", 255));
  builder.node("Mul", {"x", "two"}, {quantized ? "r" : "a"});
  if (quantized)
    builder.node("QuantizeLinear", {"r", "s", "z"}, {"q"})
        .node("DequantizeLinear", {"q", "s", "z"}, {"d"})
        .node("Neg", {"d"}, {"y"});
  else if (op == "Clip")
    builder.node("Clip", {"a", "low", "high"}, {"r"}).node("Neg", {"r"}, {"y"});
  else
    builder.node("Relu", {"a"}, {"r"}).node("Neg", {"r"}, {"y"});
  return builder;
}

TEST(DebugStyles, what_a_folded_relu_cuts_off_is_not_lost) {
  for (const char* op : {"Relu", "Clip"}) {
    SCOPED_TRACE(op);
    const DebugResult result = debug_on(folded(false, op, 2).model(), folded(true, op, 2).model(),
                                        {floats("x", {-50, 1.125F, 10, -20})});
    const DebugActivation& row = result.activations.at(0);
    EXPECT_LT(*row.local_sqnr_db, 1);
    EXPECT_NEAR(*row.intended_sqnr_db, decibels(2.25 * 2.25 + 400, 0.0625), 1e-9);
    EXPECT_EQ(*row.intended_sqnr_db, *row.cumulative_sqnr_db);
    EXPECT_EQ(row.verdict, DamageVerdict::clipped_by_design);
  }
}

// The float model multiplies by 3, the quantized one by 2: not the quantizer's doing.
TEST(DebugStyles, a_folded_relu_inherits_damage_like_any_other) {
  const DebugResult result =
      debug_on(folded(false, "Relu", 3).model(), folded(true, "Relu", 2).model(),
               {floats("x", {-50, 1.125F, 10, -20})});
  EXPECT_LT(*result.activations.at(0).cumulative_sqnr_db, 20);
  EXPECT_EQ(result.activations[0].verdict, DamageVerdict::inheritor);
}

TEST(DebugStyles, a_folded_relu_on_a_grid_that_is_too_narrow_is_an_originator) {
  const DebugResult result =
      debug_on(folded(false, "Relu", 2).model(), folded(true, "Relu", 2).model(),
               {floats("x", {-50, 1, 500, -20})});
  EXPECT_EQ(result.activations.at(0).verdict, DamageVerdict::originator);
  EXPECT_GT(result.activations[0].noise->best_range.factor, 2);
}

// The quantized model takes its image channels last.
TEST(DebugStyles, another_layout_is_compared_in_the_same_order) {
  GraphBuilder reference, candidate;
  reference.input("x", DType::f32, {{1, ""}, {3, ""}, {2, ""}, {2, ""}}).output("y");
  candidate.input("x", DType::f32, {{1, ""}, {2, ""}, {2, ""}, {3, ""}}).output("y");
  candidate.weight(scalar("s", 1)).weight(make_tensor("z", DType::u8, {}));
  reference.node("Abs", {"x"}, {"a"}).node("Neg", {"a"}, {"y"});
  candidate.node("QuantizeLinear", {"x", "s", "z"}, {"xq"})
      .node("DequantizeLinear", {"xq", "s", "z"}, {"xd"})
      .node("Abs", {"xd"}, {"a"})
      .node("QuantizeLinear", {"a", "s", "z"}, {"q"})
      .node("DequantizeLinear", {"q", "s", "z"}, {"d"})
      .node("Neg", {"d"}, {"y"});
  Tensor image = make_tensor("x", DType::f32, {1, 2, 2, 3});
  for (int i = 0; i < 12; ++i) elements<float>(image)[i] = static_cast<float>(i) + 0.25F;
  double signal = 0;
  for (int i = 0; i < 12; ++i) signal += (i + 0.25) * (i + 0.25);
  const DebugResult result = debug_on(reference.model(), candidate.model(), {image});
  ASSERT_THAT(result.activations, SizeIs(2));
  for (const DebugActivation& row : result.activations)
    EXPECT_NEAR(*row.cumulative_sqnr_db, decibels(signal, 12 * 0.0625), 1e-9) << row.tensor_name;
  EXPECT_NEAR(*result.model_outputs[0].cumulative_sqnr_db, decibels(signal, 12 * 0.0625), 1e-9);
  ASSERT_THAT(result.notes, SizeIs(1));
  EXPECT_EQ(result.notes[0].kind, DebugNote::Kind::other_layout);
  EXPECT_THAT(result.notes[0].detail, HasSubstr("NCHW to NHWC"));
}

}  // namespace
}  // namespace vernier
