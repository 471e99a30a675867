#include "vernier/analysis/check/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/check/checking.h"
#include "tests/fixture.h"

namespace vernier {
namespace {

using ::testing::IsEmpty;

Findings quantization(const Model& model) { return check_quantization(ModelIndex(model)); }

Tensor u8(const std::string& name, std::uint8_t value) {
  return tensor_of<std::uint8_t>(name, DType::u8, {}, {value});
}

// x through Q and DQ of this scale.
GraphBuilder pair(float scale) {
  GraphBuilder builder;
  return builder.input("x", DType::f32, {{1, ""}, {4, ""}})
      .weight(f32("scale", {}, {scale}))
      .weight(u8("zero", 7))
      .node("QuantizeLinear", {"x", "scale", "zero"}, {"q"})
      .node("DequantizeLinear", {"q", "scale", "zero"}, {"dq"})
      .output("dq");
}

TEST(QuantizationCheck, a_pair_and_quantized_models_are_in_order) {
  EXPECT_THAT(quantization(pair(0.1F).model()), IsEmpty());
  for (const char* name : {"mnist/mnist_cnn.int8.onnx", "mnist/mnist_cnn.int8_per_channel.onnx",
                           "mnist/mnist_vit.int8.onnx"})
    EXPECT_THAT(quantization(Model::load(fixture(name))), IsEmpty()) << name;
}

TEST(QuantizationCheck, stored_numbers_must_not_be_computed_with) {
  EXPECT_EQ(told(quantization(pair(0.1F).node("Mul", {"q", "q"}, {"m"}).output("m").model()),
                 "unpaired-quantize"),
            "node_1: its numbers go to Mul 'node_3' without DequantizeLinear");
  EXPECT_THAT(quantization(pair(0.1F).node("Flatten", {"q"}, {"m"}).output("m").model()),
              IsEmpty());
}

TEST(QuantizationCheck, a_zero_point_that_is_left_out_is_zero) {
  const Model model = GraphBuilder()
                          .input("x", DType::u8, {{1, ""}, {4, ""}})
                          .weight(f32("scale", {}, {0.1F}))
                          .weight(u8("zero", 0))
                          .node("DequantizeLinear", {"x", "scale"}, {"dq"})
                          .node("QuantizeLinear", {"dq", "scale", "zero"}, {"q"})
                          .node("DequantizeLinear", {"q", "scale"}, {"y"})
                          .output("y")
                          .model();
  EXPECT_THAT(quantization(model), IsEmpty());
}

TEST(QuantizationCheck, a_second_quantizer_right_behind_the_first_is_found) {
  const auto model = [](float second) {
    return pair(0.1F)
        .weight(f32("second", {}, {second}))
        .node("QuantizeLinear", {"dq", "second", "zero"}, {"q2"})
        .node("DequantizeLinear", {"q2", "second", "zero"}, {"dq2"})
        .output("dq2")
        .model();
  };
  EXPECT_EQ(told(quantization(model(0.2F)), "differing-requantize"),
            "node_3: 'node_2' before it has scale 0.1 and zero point 7, it has scale 0.2 and zero "
            "point 7");
  EXPECT_THAT(quantization(model(0.1F)), IsEmpty());
}

TEST(QuantizationCheck, scales_that_are_no_scales_are_found) {
  EXPECT_EQ(evidence_text(only(quantization(pair(0).model()), "degenerate-scale")[0]),
            "its scale is 0");
  EXPECT_EQ(evidence_text(only(quantization(pair(-1).model()), "degenerate-scale")[0]),
            "its scale is -1");
  EXPECT_EQ(evidence_text(only(quantization(pair(1e-40F).model()), "degenerate-scale")[0]),
            "its scale is the subnormal number 9.99995e-41");
  EXPECT_EQ(only(quantization(pair(NAN).model()), "degenerate-scale").size(), 2u);
  EXPECT_THAT(quantization(pair(2e-38F).model()), IsEmpty());
}

TEST(QuantizationCheck, one_bad_scale_among_many_is_named) {
  const Model model =
      GraphBuilder()
          .weight(tensor_of<std::int8_t>("w", DType::i8, {2, 1}, {1, 2}))
          .weight(f32("scale", {2}, {0.1F, 0}))
          .node("DequantizeLinear", {"w", "scale"}, {"y"}, {int_attribute("axis", 0)})
          .output("y")
          .model();
  EXPECT_EQ(told(quantization(model), "degenerate-scale"), "node_1: scale 1 of 2 is 0");
}

TEST(QuantizationCheck, zero_points_have_to_fit) {
  GraphBuilder builder = pair(0.1F);
  vernier_onnx::TensorProto& zero = *builder.graph().mutable_initializer(1);
  zero.clear_raw_data();
  zero.add_int32_data(300);
  EXPECT_EQ(evidence_text(only(quantization(builder.model()), "zero-point-range")[0]),
            "its zero point 300 does not fit into uint8");
  for (const int fits : {255, -1, -128}) {  // readers take the lowest bits
    zero.set_int32_data(0, fits);
    EXPECT_THAT(quantization(builder.model()), IsEmpty()) << fits;
  }
}

TEST(QuantizationCheck, the_result_of_a_quantized_concat_is_of_its_zero_points_type) {
  const Model model = pair(0.1F)
                          .node("QLinearConcat", {"scale", "zero", "q", "scale", "zero"}, {"c"},
                                {int_attribute("axis", 1)}, "com.microsoft")
                          .node("DequantizeLinear", {"c", "scale", "zero"}, {"y"})
                          .output("y")
                          .model();
  EXPECT_THAT(quantization(model), IsEmpty());
}

TEST(QuantizationCheck, the_two_sides_of_a_pair_have_to_agree) {
  const auto model = [](float back, std::uint8_t zero) {
    return GraphBuilder()
        .input("x", DType::f32, {{1, ""}, {4, ""}})
        .weight(f32("scale", {}, {0.1F}))
        .weight(f32("back", {}, {back}))
        .weight(u8("zero", 7))
        .weight(u8("other", zero))
        .node("QuantizeLinear", {"x", "scale", "zero"}, {"q"})
        .node("DequantizeLinear", {"q", "back", "other"}, {"y"})
        .output("y")
        .model();
  };
  EXPECT_EQ(told(quantization(model(0.2F, 7)), "mismatched-pair"),
            "node_2: 'node_1' quantizes with scale 0.1 and zero point 7, this dequantizes with "
            "scale 0.2 and zero point 7");
  EXPECT_EQ(only(quantization(model(0.1F, 8)), "mismatched-pair").size(), 1u);
  EXPECT_THAT(quantization(model(0.1F, 7)), IsEmpty());
}

TEST(QuantizationCheck, a_range_that_the_operator_cannot_fill_is_found) {
  const auto model = [](float scale) {
    return GraphBuilder()
        .input("x", DType::f32, {{1, ""}, {4, ""}})
        .weight(f32("scale", {}, {scale}))
        .weight(u8("zero", 0))
        .node("Sigmoid", {"x"}, {"s"})
        .node("QuantizeLinear", {"s", "scale", "zero"}, {"q"})
        .node("DequantizeLinear", {"q", "scale", "zero"}, {"y"})
        .output("y")
        .model();
  };
  const auto calibration = [](const Model& built) {
    return told(check_calibration(ModelIndex(built), {}, false), "unfilled-range");
  };
  EXPECT_EQ(calibration(model(0.1F)),
            "node_2: 'y' is quantized over [0, 25.5], and Sigmoid reaches [0, 1]");
  EXPECT_EQ(calibration(model(1.0F / 255)), "none");
  const TemporaryDirectory folder;
  model(0.1F).save(folder / "wide.onnx");
  EXPECT_EQ(
      told(check(folder / "wide.onnx", {.only = {"unfilled-range"}}).findings, "unfilled-range"),
      calibration(model(0.1F)))
      << "it is found when nothing else is asked for, too";
}

TEST(QuantizationCheck, a_range_that_given_data_does_not_fill_is_found) {
  const Model model = pair(0.1F).model();
  ObservedTensors live;
  live.ranges["x"] = {.low = -0.1, .high = 0.5};
  EXPECT_EQ(told(check_calibration(ModelIndex(model), live, true), "unfilled-range"),
            "node_1: 'dq' is quantized over [-0.7, 24.8], and the given data reaches [-0.1, 0.5]");
  EXPECT_THAT(check_calibration(ModelIndex(model), live, false), IsEmpty());
}

TEST(QuantizationCheck, zero_points_have_the_type_of_the_stored_numbers) {
  const Model model = GraphBuilder()
                          .weight(tensor_of<std::int8_t>("w", DType::i8, {1}, {1}))
                          .weight(f32("scale", {}, {1}))
                          .weight(u8("zero", 0))
                          .node("DequantizeLinear", {"w", "scale", "zero"}, {"y"})
                          .output("y")
                          .model();
  EXPECT_EQ(told(quantization(model), "zero-point-range"),
            "node_1: its zero point is uint8, the stored numbers are int8");
}

TEST(QuantizationCheck, int32_has_no_zero_point_but_zero) {
  const auto model = [](std::int32_t zero) {
    return GraphBuilder()
        .weight(tensor_of<std::int32_t>("w", DType::i32, {1}, {1}))
        .weight(f32("scale", {}, {1}))
        .weight(tensor_of<std::int32_t>("zero", DType::i32, {}, {zero}))
        .node("DequantizeLinear", {"w", "scale", "zero"}, {"y"})
        .output("y")
        .model();
  };
  EXPECT_EQ(told(quantization(model(3)), "zero-point-range"),
            "node_1: its zero point is 3, int32 wants 0");
  EXPECT_THAT(quantization(model(0)), IsEmpty());
}

// Three MatMuls in a row, of which the middle one may have a float weight.
Model three(bool middle_is_quantized) {
  GraphBuilder builder = pair(0.1F);
  builder
      .weight(tensor_of<std::int8_t>("stored", DType::i8, {4, 4}, std::vector<std::int8_t>(16, 1)))
      .weight(filled("float", {4, 4}, 1))
      .node("DequantizeLinear", {"stored", "scale"}, {"w"});
  std::string value = "dq";
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    builder.node("MatMul", {value, i == 1 && !middle_is_quantized ? "float" : "w"}, {"m" + n})
        .node("QuantizeLinear", {"m" + n, "scale", "zero"}, {"q" + n})
        .node("DequantizeLinear", {"q" + n, "scale", "zero"}, {"d" + n});
    value = "d" + n;
  }
  return builder.output(value).model();
}

TEST(QuantizationCheck, an_operator_in_float_between_quantized_ones_is_found) {
  EXPECT_EQ(
      told(quantization(three(false)), "unquantized-operator"),
      "node_7: this MatMul has a float weight, with quantized operators before and behind it");
  EXPECT_THAT(quantization(three(true)), IsEmpty());
}

}  // namespace
}  // namespace vernier
