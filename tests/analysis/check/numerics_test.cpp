#include "vernier/analysis/check/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/analysis/check/checking.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Findings numerics(const Model& model) { return check_numerics(ModelIndex(model), {}); }
Findings weights(const Model& model) { return check_weights(ModelIndex(model)); }

vernier_onnx::AttributeProto to(DType dtype) { return int_attribute("to", onnx_data_type(dtype)); }

GraphBuilder input(DType dtype = DType::f32) {
  GraphBuilder builder;
  return builder.input("x", dtype, {{1, ""}, {4, ""}});
}

Model with_weight(const Tensor& weight) {
  return input().weight(weight).node("Add", {"x", weight.name}, {"y"}).output("y").model();
}

TEST(Numerics, nan_and_infinity_in_weights_are_found) {
  EXPECT_EQ(told(weights(with_weight(f32("w", {4}, {1, NAN, 3, INFINITY}))), "nonfinite-constant"),
            "w: 1 NaN and 1 infinite of 4 elements");
  EXPECT_EQ(told(weights(with_weight(f32("w", {4}, {1, 2, 3, -INFINITY}))), "nonfinite-constant"),
            "w: 0 NaN and 1 infinite of 4 elements");
  EXPECT_THAT(weights(with_weight(f32("w", {4}, {1, 2, 3, 4}))), IsEmpty());
}

TEST(Numerics, masks_and_bounds_may_be_infinite) {
  EXPECT_THAT(weights(with_weight(f32("mask", {4}, {0, -INFINITY, 0, -INFINITY}))), IsEmpty());
  EXPECT_THAT(weights(with_weight(f32("bound", {}, {INFINITY}))), IsEmpty());
  EXPECT_EQ(told(weights(with_weight(f32("bound", {}, {NAN}))), "nonfinite-constant"),
            "bound: 1 NaN and 0 infinite of 1 elements");
}

TEST(Numerics, constants_of_nodes_are_looked_at_too) {
  const Model model =
      input()
          .node("Constant", {}, {"c"}, {tensor_attribute("value", f32("", {2}, {NAN, 1}))})
          .output("c")
          .model();
  EXPECT_EQ(told(weights(model), "nonfinite-constant"), "c: 1 NaN and 0 infinite of 2 elements");
}

TEST(Numerics, what_float16_cannot_hold_is_a_note_and_a_warning_where_it_is_cast) {
  const Tensor weight = f32("w", {4}, {1, -70000, 2, 65504});
  const Findings note = weights(with_weight(weight));
  EXPECT_EQ(told(note, "fp16-overflow"), "w: 1 of 4 elements are beyond 65504, up to 70000");
  EXPECT_EQ(note[0].severity, Severity::note);
  const Findings cast = weights(
      input().weight(weight).node("Cast", {"w"}, {"h"}, {to(DType::f16)}).output("h").model());
  EXPECT_EQ(cast[0].severity, Severity::warning);
  EXPECT_THAT(weights(with_weight(f32("w", {4}, {1, 2, 3, 65504}))), IsEmpty());
}

TEST(Numerics, subnormal_weights_are_counted) {
  std::vector<float> values(100, 1.0F);
  values[3] = 1e-40F;
  EXPECT_EQ(told(weights(with_weight(f32("w", {100}, values))), "subnormal-weights"),
            "w: 1 of 100 elements (1.0%) are subnormal");
  values.resize(101, 1.0F);
  EXPECT_THAT(weights(with_weight(f32("w", {101}, values))), IsEmpty());
}

TEST(Numerics, float16_has_its_own_subnormal_numbers) {
  const auto halves = [](int count) {
    std::vector<float> values(10, 1.0F);
    std::fill_n(values.begin(), count, 1e-5F);
    Tensor tensor = convert(f32("w", {10}, values), DType::f16);
    tensor.name = "w";
    return input().weight(tensor).output("w").model();
  };
  EXPECT_EQ(told(weights(halves(1)), "subnormal-weights"),
            "w: 1 of 10 elements (10.0%) are subnormal");
  EXPECT_THAT(weights(halves(0)), IsEmpty());
}

Model gemm(const std::vector<float>& values, bool transposed) {
  return input()
      .weight(f32("w", transposed ? Shape{2, 4} : Shape{4, 2}, values))
      .node("Gemm", {"x", "w"}, {"y"}, {int_attribute("transB", transposed)})
      .output("y")
      .model();
}

TEST(Numerics, channels_without_weights_are_dead) {
  EXPECT_EQ(told(weights(gemm({1, 0, 1, 0, 1, 0, 1, 0}, false)), "dead-channels"),
            "w: 1 of 2 output channels of Gemm 'node_1' are all zero");
  EXPECT_EQ(told(weights(gemm({1, 1, 1, 1, 0, 0, 0, 0}, true)), "dead-channels"),
            "w: 1 of 2 output channels of Gemm 'node_1' are all zero");
  EXPECT_THAT(weights(gemm({1, 0, 1, 0, 1, 0, 1, 0}, true)), IsEmpty());
}

TEST(Numerics, a_few_dead_channels_are_a_note) {
  std::vector<float> values(4 * 11, 1.0F);
  for (int row = 0; row < 4; ++row) values[row * 11] = 0;
  const Findings found = weights(input()
                                     .weight(f32("w", {4, 11}, values))
                                     .node("MatMul", {"x", "w"}, {"y"})
                                     .output("y")
                                     .model());
  ASSERT_EQ(ids_of(found), std::vector<std::string>{"dead-channels"});
  EXPECT_EQ(found[0].severity, Severity::note);
}

TEST(Numerics, float64_is_reported_where_it_begins) {
  const Model model = input()
                          .node("Cast", {"x"}, {"d"}, {to(DType::f64)})
                          .node("Neg", {"d"}, {"n"})
                          .node("Cast", {"n"}, {"y"}, {to(DType::f32)})
                          .output("y")
                          .model();
  EXPECT_EQ(told(numerics(model), "float64"),
            "node_1: this Cast gives float64; 2 nodes of the graph compute in it");
  EXPECT_EQ(
      told(numerics(input(DType::f64).node("Neg", {"x"}, {"y"}).output("y").model()), "float64"),
      "x: this input is float64");
}

TEST(Numerics, float64_that_is_constant_is_folded_away) {
  const Model model =
      input()
          .node("Constant", {}, {"c"},
                {tensor_attribute("value", tensor_of<double>("", DType::f64, {}, {2}))})
          .node("Cast", {"c"}, {"s"}, {to(DType::f32)})
          .node("Mul", {"x", "s"}, {"y"})
          .output("y")
          .model();
  EXPECT_THAT(numerics(model), IsEmpty());
}

TEST(Numerics, casts_down_and_up_again_are_found) {
  const Model around = input()
                           .node("Cast", {"x"}, {"h"}, {to(DType::f16)})
                           .node("Relu", {"h"}, {"r"})
                           .node("Cast", {"r"}, {"y"}, {to(DType::f32)})
                           .output("y")
                           .model();
  EXPECT_EQ(told(numerics(around), "cast-round-trip"),
            "node_1: 'x' goes from float32 to float16 and back around Relu 'node_2'");
  const Model direct = input()
                           .node("Cast", {"x"}, {"h"}, {to(DType::f16)})
                           .node("Cast", {"h"}, {"y"}, {to(DType::f32)})
                           .output("y")
                           .model();
  EXPECT_EQ(told(numerics(direct), "cast-round-trip"),
            "node_1: 'x' goes from float32 to float16 and back");
}

TEST(Numerics, casts_around_more_than_one_operator_or_up_and_down_are_meant) {
  const Model two = input()
                        .node("Cast", {"x"}, {"h"}, {to(DType::f16)})
                        .node("Relu", {"h"}, {"r"})
                        .node("Neg", {"r"}, {"n"})
                        .node("Cast", {"n"}, {"y"}, {to(DType::f32)})
                        .output("y")
                        .model();
  EXPECT_THAT(numerics(two), IsEmpty());
  const Model up = input(DType::f16)
                       .node("Cast", {"x"}, {"f"}, {to(DType::f32)})
                       .node("Relu", {"f"}, {"r"})
                       .node("Cast", {"r"}, {"y"}, {to(DType::f16)})
                       .output("y")
                       .model();
  EXPECT_THAT(numerics(up), IsEmpty());
}

GraphBuilder conv_and_batchnorm() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {1, ""}, {2, ""}, {2, ""}})
      .weight(filled("w", {1, 1, 1, 1}, 1));
  for (const char* name : {"scale", "bias", "mean", "variance"})
    builder.weight(filled(name, {1}, 1));
  return builder.node("Conv", {"x", "w"}, {"c"})
      .node("BatchNormalization", {"c", "scale", "bias", "mean", "variance"}, {"y"})
      .output("y");
}

TEST(Numerics, a_batchnorm_that_could_be_folded_is_found) {
  EXPECT_EQ(told(numerics(conv_and_batchnorm().model()), "unfolded-batchnorm"),
            "node_2: it follows Conv 'node_1'");
  EXPECT_THAT(numerics(conv_and_batchnorm().output("c").model()), IsEmpty());
}

TEST(Numerics, an_epsilon_that_is_zero_in_its_type_is_found) {
  const auto model = [](DType dtype, float epsilon) {
    Tensor ones = convert(filled("s", {4}, 1), dtype);
    ones.name = "s";
    return input(dtype)
        .weight(ones)
        .node("LayerNormalization", {"x", "s"}, {"y"}, {float_attribute("epsilon", epsilon)})
        .output("y")
        .model();
  };
  EXPECT_EQ(told(numerics(model(DType::f16, 1e-12F)), "vanishing-epsilon"),
            "node_1: its epsilon 1e-12 is 0 in float16");
  EXPECT_EQ(told(numerics(model(DType::f32, 0)), "vanishing-epsilon"),
            "node_1: its epsilon 0 is 0 in float32");
  EXPECT_THAT(numerics(model(DType::f32, 1e-12F)), IsEmpty());
  EXPECT_THAT(numerics(model(DType::f16, 1e-5F)), IsEmpty());
}

TEST(Numerics, an_epsilon_that_is_added_counts_too) {
  const auto model = [](float epsilon, const std::string& next) {
    Tensor half = convert(f32("e", {}, {epsilon}), DType::f16);
    half.name = "e";
    return input(DType::f16)
        .weight(half)
        .node("Add", {"x", "e"}, {"a"})
        .node(next, {"a"}, {"y"})
        .output("y")
        .model();
  };
  EXPECT_EQ(told(numerics(model(1e-12F, "Sqrt")), "vanishing-epsilon"),
            "node_1: the 0 that it adds is 0 in float16");
  EXPECT_THAT(numerics(model(1e-5F, "Sqrt")), IsEmpty());
  EXPECT_THAT(numerics(model(1e-12F, "Relu")), IsEmpty());
}

TEST(Numerics, a_long_softmax_in_float16_is_found) {
  const auto model = [](DType dtype, std::int64_t length) {
    return GraphBuilder()
        .input("x", dtype, {{1, ""}, {length, ""}})
        .node("Softmax", {"x"}, {"y"})
        .output("y")
        .model();
  };
  EXPECT_EQ(told(numerics(model(DType::f16, 2049)), "fp16-softmax"),
            "node_1: it sums 2049 float16 numbers");
  EXPECT_THAT(numerics(model(DType::f16, 2048)), IsEmpty());
  EXPECT_THAT(numerics(model(DType::f32, 2049)), IsEmpty());
}

TEST(Numerics, the_length_of_a_softmax_may_be_known_from_a_run_alone) {
  const Model model = GraphBuilder()
                          .input("x", DType::f16, {{1, ""}, {-1, "n"}})
                          .node("Softmax", {"x"}, {"y"})
                          .output("y")
                          .model();
  EXPECT_THAT(numerics(model), IsEmpty());
  ObservedTensors live;
  live.shapes["x"] = {1, 5000};
  EXPECT_EQ(told(check_numerics(ModelIndex(model), live), "fp16-softmax"),
            "node_1: it sums 5000 float16 numbers");
}

Model embedding(std::int64_t offset, std::int64_t rows) {
  return GraphBuilder()
      .input("ids", DType::i64, {{1, ""}, {3, ""}})
      .weight(filled("words", {10, 2}, 1))
      .weight(filled("places", {rows, 2}, 1))
      .weight(i64("offset", {offset}))
      .node("Gather", {"words", "ids"}, {"w"})
      .node("Add", {"ids", "offset"}, {"moved"})
      .node("Gather", {"places", "moved"}, {"p"})
      .node("Add", {"w", "p"}, {"y"})
      .output("y")
      .model();
}

TEST(Numerics, an_input_that_can_reach_past_a_table_is_found) {
  EXPECT_THAT(told(check_saved(embedding(2, 10)), "index-out-of-range"),
              HasSubstr("node_3: input 'ids' indexes a table of 10 rows, and index 9 fails"));
  EXPECT_EQ(told(check_saved(embedding(2, 12)), "index-out-of-range"), "none");
}

TEST(Numerics, a_constant_index_past_its_table_is_found) {
  const auto model = [](std::int64_t index) {
    return GraphBuilder()
        .input("x", DType::f32, {{3, ""}, {2, ""}})
        .weight(i64("i", {0, index}))
        .node("Gather", {"x", "i"}, {"y"})
        .output("y")
        .model();
  };
  const auto found = [](const Model& built) {
    return told(check_indices(ModelIndex(built), {}), "index-out-of-range");
  };
  EXPECT_EQ(found(model(3)), "node_1: index 3 is read from 'x', whose axis 0 has 3 elements");
  EXPECT_EQ(found(model(-3)), "none");
}

TEST(Numerics, given_indices_past_the_table_are_found) {
  CheckOptions options;
  class Given : public Samples {
   public:
    std::int64_t size() const override { return 1; }
    std::vector<Tensor> sample(std::int64_t) override {
      return {tensor_of<std::int64_t>("ids", DType::i64, {1, 3}, {0, 12, 1})};
    }
  };
  options.samples = [](const Model&) { return std::make_unique<Given>(); };
  EXPECT_EQ(told(check_saved(embedding(0, 10), options), "index-out-of-range"),
            "ids: the given index 12 is past a table of 10 rows");
  EXPECT_EQ(told(check_saved(embedding(0, 13), options), "failed-run").substr(0, 6), "node_1");
}

TEST(Numerics, nan_that_reaches_an_output_is_traced_to_its_operator) {
  const Model model = input()
                          .node("Neg", {"x"}, {"n"})
                          .node("Log", {"n"}, {"l"})
                          .node("Abs", {"l"}, {"y"})
                          .output("y")
                          .model();
  EXPECT_EQ(told(check_saved(model), "nonfinite-value"),
            "node_2: NaN first appears in 'l', written by Log, and output 'y' holds it");
}

TEST(Numerics, nan_that_is_replaced_is_a_warning_and_inner_infinity_nothing) {
  const Model replaced = input()
                             .weight(f32("one", {}, {1}))
                             .node("Neg", {"x"}, {"n"})
                             .node("Log", {"n"}, {"l"})
                             .node("IsNaN", {"l"}, {"is"})
                             .node("Where", {"is", "one", "l"}, {"y"})
                             .output("y")
                             .model();
  const Findings found = only(check_saved(replaced), "nonfinite-value");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::warning);
  const Model masked = input()
                           .weight(f32("inf", {}, {INFINITY}))
                           .weight(f32("one", {}, {1}))
                           .node("Add", {"x", "inf"}, {"a"})
                           .node("Min", {"a", "one"}, {"y"})
                           .output("y")
                           .model();
  EXPECT_EQ(told(check_saved(masked), "nonfinite-value"), "none");
}

}  // namespace
}  // namespace vernier
