// One small model for each way of quantizing, with numbers computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"
#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/layout.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using vernier_onnx::AttributeProto;

// The same inputs, once.
class OneSample : public Samples {
 public:
  explicit OneSample(std::vector<Tensor> inputs) : inputs_(std::move(inputs)) {}
  std::int64_t size() const override { return 1; }
  std::vector<Tensor> sample(std::int64_t /*index*/) override { return inputs_; }

 private:
  std::vector<Tensor> inputs_;
};

Tensor floats(const std::string& name, const std::vector<float>& values) {
  return tensor_of<float>(name, DType::f32, {std::ssize(values)}, values);
}

Tensor scalar(const std::string& name, float value) {
  return tensor_of<float>(name, DType::f32, {}, {value});
}

double decibels(double signal, double noise) { return 10 * std::log10(signal / noise); }

DebugResult debug_on(const Model& float_model, const Model& quantized_model,
                     std::vector<Tensor> inputs) {
  OneSample samples(std::move(inputs));
  return debug(float_model, quantized_model, samples, {});
}

// A model that imports Microsoft's operators too.
Model with_contrib(const GraphBuilder& builder, std::int64_t opset = 17) {
  auto proto = builder.proto(opset);
  auto& import = *proto.add_opset_import();
  import.set_domain("com.microsoft");
  import.set_version(1);
  return {proto, {}, "built.onnx"};
}

// y = -|x|, with |x| on a grid of step 1.
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

// Each turn adds x; the sum is put on a grid of step 1.
GraphBuilder loop_graph(bool quantized) {
  GraphBuilder body("body");
  body.input("i", DType::i64, {})
      .input("go", DType::boolean, {})
      .input("sum", DType::f32, {{2, ""}});
  body.node("Add", {"sum", "x"}, {"a"});
  if (quantized)
    body.node("QuantizeLinear", {"a", "s", "z"}, {"q"})
        .node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  body.node("Identity", {quantized ? "d" : "a"}, {"next"}).node("Identity", {"go"}, {"go_on"});
  body.output("go_on", DType::boolean, {}).output("next", DType::f32, {{2, ""}});
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2, ""}}).output("y", DType::f32, {{2, ""}});
  builder.weight(tensor_of<std::int64_t>("n", DType::i64, {}, {2}));
  builder.weight(tensor_of<bool>("yes", DType::boolean, {}, {true}));
  builder.weight(scalar("s", 1)).weight(make_tensor("z", DType::u8, {}));
  builder.node("Loop", {"n", "yes", "x"}, {"y"}, {graph_attribute("body", body)});
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

// y = x * w, the quantized model's w behind `make_weight`.
template <typename MakeWeight>
DebugResult debug_weight(const Tensor& weight, std::int64_t opset, const MakeWeight& make_weight) {
  GraphBuilder reference, candidate;
  for (GraphBuilder* builder : {&reference, &candidate})
    builder->input("x", DType::f32, {{4, ""}}).output("y");
  reference.weight(weight).node("Mul", {"x", weight.name}, {"y"});
  make_weight(candidate);
  candidate.node("Mul", {"x", "real"}, {"y"});
  return debug_on(reference.model(opset, 10), candidate.model(opset, 10),
                  {floats("x", {1, 1, 1, 1})});
}

TEST(DebugStyles, a_scalar_weight) {
  const DebugResult result = debug_weight(scalar("w", 2.25F), 17, [](GraphBuilder& builder) {
    builder.weight(tensor_of<std::int8_t>("w_quantized", DType::i8, {}, {2}))
        .weight(scalar("s", 1))
        .node("DequantizeLinear", {"w_quantized", "s"}, {"real"});
  });
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, decibels(2.25 * 2.25, 0.0625), 1e-9);
}

// 128 stands for 0: 127 is -1, not 255.
TEST(DebugStyles, an_unsigned_weight_with_a_zero_point_does_not_wrap) {
  const DebugResult result =
      debug_weight(floats("w", {-1, 1.5F, 0, 3}), 17, [](GraphBuilder& builder) {
        builder.weight(tensor_of<std::uint8_t>("w_quantized", DType::u8, {4}, {127, 129, 128, 131}))
            .weight(tensor_of<std::uint8_t>("zero", DType::u8, {}, {128}))
            .weight(scalar("s", 1))
            .node("DequantizeLinear", {"w_quantized", "s", "zero"}, {"real"});
      });
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, decibels(1 + 2.25 + 9, 0.25), 1e-9);
}

TEST(DebugStyles, a_float_weight_behind_a_pair) {
  const DebugResult result =
      debug_weight(floats("w", {-1, 1.25F, 0, 3}), 17, [](GraphBuilder& builder) {
        builder.weight(floats("w", {-1, 1.25F, 0, 3}))
            .weight(tensor_of<std::int8_t>("zero", DType::i8, {}, {0}))
            .weight(scalar("s", 1))
            .node("QuantizeLinear", {"w", "s", "zero"}, {"q"})
            .node("DequantizeLinear", {"q", "s", "zero"}, {"real"});
      });
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_EQ(result.weights[0].form, WeightForm::fake_quantized);
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, decibels(1 + 1.5625 + 9, 0.0625), 1e-9);
}

// Two blocks of two: steps of 1 and of 2.
TEST(DebugStyles, blocks_of_four_bits_have_scales_of_their_own) {
  const DebugResult result =
      debug_weight(floats("w", {1, 3.25F, 4, -6}), 21, [](GraphBuilder& builder) {
        Tensor packed = make_tensor("w_quantized", DType::i4, {4});
        packed.bytes = {std::byte{0x31}, std::byte{0xD2}};  // 1, 3, 2, -3
        builder.weight(packed)
            .weight(floats("s", {1, 2}))
            .node("DequantizeLinear", {"w_quantized", "s"}, {"real"},
                  {int_attribute("axis", 0), int_attribute("block_size", 2)});
      });
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_EQ(result.weights[0].granularity, Granularity::blockwise);
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, decibels(1 + 3.25 * 3.25 + 16 + 36, 0.0625), 1e-9);
}

TEST(DebugStyles, a_float8_weight) {
  const DebugResult result =
      debug_weight(floats("w", {1, 2.5F, 4, -6}), 19, [](GraphBuilder& builder) {
        // 1, 2.5 and 4 are exact; -6 is stored as -5.5.
        Tensor stored = make_tensor("w_quantized", DType::f8e4m3fn, {4});
        stored.bytes = {std::byte{0x38}, std::byte{0x42}, std::byte{0x48}, std::byte{0xCB}};
        builder.weight(stored)
            .weight(scalar("s", 1))
            .node("DequantizeLinear", {"w_quantized", "s"}, {"real"});
      });
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, decibels(1 + 6.25 + 16 + 36, 0.25), 1e-9);
}

// Two weights of a matrix product: rows 2.25 and 4 become 2 and 4.
GraphBuilder float_product() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {2, ""}}).output("y");
  builder.weight(tensor_of<float>("w", DType::f32, {2, 1}, {2.25F, 4}));
  builder.node("MatMul", {"x", "w"}, {"y"});
  return builder;
}

Tensor row(float first, float second) {
  return tensor_of<float>("x", DType::f32, {1, 2}, {first, second});
}

const double product_weight_db = decibels(2.25 * 2.25 + 16, 0.0625);

TEST(DebugStyles, q_linear_operators_are_estimated_from_their_scale) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {2, ""}}).output("y");
  builder.weight(scalar("s", 1)).weight(tensor_of<std::int8_t>("z", DType::i8, {}, {0}));
  builder.weight(tensor_of<std::int8_t>("w_quantized", DType::i8, {2, 1}, {2, 4}));
  builder.node("QuantizeLinear", {"x", "s", "z"}, {"xq"});
  builder.node("QLinearMatMul", {"xq", "s", "z", "w_quantized", "s", "z", "s", "z"}, {"yq"});
  builder.node("DequantizeLinear", {"yq", "s", "z"}, {"y"});
  const DebugResult result = debug_on(float_product().model(), builder.model(), {row(4, 3)});
  ASSERT_THAT(result.activations, SizeIs(2));
  EXPECT_EQ(*result.activations[0].local_sqnr_db, INFINITY);
  EXPECT_TRUE(result.activations[1].local_is_estimated);
  EXPECT_NEAR(*result.activations[1].local_sqnr_db, decibels(20 * 20, 1.0 / 12), 1e-9);
  EXPECT_NEAR(*result.activations[1].cumulative_sqnr_db, decibels(21 * 21, 1), 1e-9);
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, product_weight_db, 1e-9);
}

TEST(DebugStyles, dynamic_quantization_has_weights_and_cumulative) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {2, ""}}).output("y");
  builder.weight(tensor_of<std::int8_t>("w_quantized", DType::i8, {2, 1}, {2, 4}));
  builder.weight(scalar("w_scale", 1));
  builder.node("DynamicQuantizeLinear", {"x"}, {"q", "qs", "qz"});
  builder.node("MatMulInteger", {"q", "w_quantized", "qz"}, {"i"});
  builder.node("Cast", {"i"}, {"f"}, {int_attribute("to", onnx_data_type(DType::f32))});
  builder.node("Mul", {"qs", "w_scale"}, {"m"}).node("Mul", {"f", "m"}, {"y"});
  // A range of 0 to 255 gives the input a step of 1.
  const DebugResult result = debug_on(float_product().model(), builder.model(), {row(255, 4)});
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, product_weight_db, 1e-9);
  const double exact = 2.25 * 255 + 16;
  ASSERT_THAT(result.activations, SizeIs(1));
  EXPECT_EQ(result.activations[0].local_sqnr_db, std::nullopt);
  EXPECT_NEAR(*result.activations[0].cumulative_sqnr_db,
              decibels(exact * exact, std::pow(0.25 * 255, 2)), 1e-4);
}

TEST(DebugStyles, n_bit_weights_are_matched_to_the_matrix) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {2, ""}}).output("y");
  Tensor packed = make_tensor("w_Q4", DType::u8, {1, 1, 8});
  packed.bytes[0] = std::byte{0xCA};  // 10, 12: less the implied zero point 8
  builder.weight(packed).weight(tensor_of<float>("w_scales", DType::f32, {1}, {1}));
  builder.node("MatMulNBits", {"x", "w_Q4", "w_scales"}, {"y"},
               {int_attribute("K", 2), int_attribute("N", 1), int_attribute("bits", 4),
                int_attribute("block_size", 16)},
               "com.microsoft");
  const DebugResult result = debug_on(float_product().model(), with_contrib(builder), {row(4, 3)});
  ASSERT_THAT(result.weights, SizeIs(1));
  EXPECT_NEAR(*result.weights[0].weight_sqnr_db, product_weight_db, 1e-9);
  EXPECT_NEAR(*result.model_outputs[0].cumulative_sqnr_db, decibels(21 * 21, 1), 1e-4);
}

// a = 2x, and a Relu or Clip behind it that the quantized model leaves to the grid of step 1.
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

// The float model multiplies by 3, the quantized one by 2: not the grid's doing.
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
  EXPECT_THAT(result.notes[0], HasSubstr("NCHW to NHWC"));
}

}  // namespace
}  // namespace vernier
