#include "vernier/analysis/compare/output_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compare_pair.h"
#include "tests/failure_texts.h"
#include "tests/model_builder.h"
#include "vernier/analysis/compare/compare_models.h"
#include "vernier/analysis/parts/records.h"
#include "vernier/model/index.h"
#include "vernier/model/precision.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

vernier_onnx::AttributeProto permutation(const std::vector<std::int64_t>& axes) {
  vernier_onnx::AttributeProto attribute;
  attribute.set_name("perm");
  attribute.set_type(vernier_onnx::AttributeProto::INTS);
  for (const std::int64_t axis : axes) attribute.add_ints(axis);
  return attribute;
}

// As they are on zeros.
std::vector<std::string> parts_of(const Model& model) {
  const auto shapes_of = [&](const std::vector<std::string>& tensors) {
    std::map<std::string, Shape> shapes;
    std::vector<Tensor> inputs;
    for (const TensorSpec& input : model.inputs()) {
      Shape shape;
      for (const Dim& dim : input.shape) shape.push_back(dim.size);
      inputs.push_back(make_tensor(input.name, input.dtype, shape));
    }
    OrtRunner(model.clone(), {.watch = Watch::only(tensors)})
        .run(inputs, [&](const TensorView& tensor) {
          shapes.try_emplace(std::string(tensor.name), tensor.shape.begin(), tensor.shape.end());
        });
    return shapes;
  };
  std::vector<std::string> names;
  for (const OutputPart& part : find_output_parts(ModelIndex(model), shapes_of))
    names.push_back(part_name(part) + (part.is_share ? ", shares" : ""));
  return names;
}

// Two channels of large boxes beside three of scores, of which the last has a bias.
GraphBuilder detector(const std::string& sigmoid = "Sigmoid", float bias = 0) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {3}, {8}})
      .weight(tensor_of<float>("large", DType::f32, {}, {300}))
      .weight(tensor_of<float>("bias", DType::f32, {}, {bias}))
      .weight(tensor_of<std::int64_t>("sizes", DType::i64, {2}, {2, 1}))
      .node("Mul", {"x", "large"}, {"products"})
      .node("Split", {"products", "sizes"}, {"boxes", "rest"}, {int_attribute("axis", 1)})
      .node("Add", {"x", "bias"}, {"logits"})
      .node(sigmoid, {"logits"}, {"scores"})
      .node("Concat", {"boxes", "scores"}, {"joined"}, {int_attribute("axis", 1)});
  return builder;
}

Model detector_model(const std::string& sigmoid = "Sigmoid", float bias = 0) {
  return detector(sigmoid, bias).node("Identity", {"joined"}, {"y"}).output("y").model();
}

// One quantizer for both, with steps of about 1.2.
Model quantized_detector(float bias = 0) {
  return detector("Sigmoid", bias)
      .weight(tensor_of<float>("scale", DType::f32, {}, {1.2F}))
      .weight(tensor_of<std::uint8_t>("zero", DType::u8, {}, {0}))
      .node("QuantizeLinear", {"joined", "scale", "zero"}, {"codes"})
      .node("DequantizeLinear", {"codes", "scale", "zero"}, {"y"})
      .output("y")
      .model();
}

CompareResult compared(const Model& reference, const Model& candidate,
                       CompareModelsOptions options = {}) {
  const Inputs inputs = make_inputs(candidate, {.samples = 4});
  options.compare.evidence.real_inputs = true;
  if (options.compare.limits.empty())
    options.compare.limits = default_limits(precision_of(candidate));
  return compare_models(reference, candidate, *inputs.samples, options);
}

TEST(OutputParts, are_the_operands_of_a_final_concat_behind_what_carries_it) {
  const Model model = detector()
                          .node("Transpose", {"joined"}, {"transposed"}, {permutation({0, 2, 1})})
                          .node("Identity", {"transposed"}, {"y"})
                          .output("y", DType::f32, {{1}, {8}, {5}})
                          .model();
  EXPECT_THAT(parts_of(model), ElementsAre("y, part 1 of 2 (0 to 1 along axis 2)",
                                           "y, part 2 of 2 (2 to 4 along axis 2), shares"));
}

TEST(OutputParts, are_followed_through_a_transpose_that_reverses_all_axes) {
  const Model model = detector()
                          .node("Transpose", {"joined"}, {"y"})
                          .output("y", DType::f32, {{8}, {5}, {1}})
                          .model();
  EXPECT_THAT(parts_of(model), ElementsAre("y, part 1 of 2 (0 to 1 along axis 1)",
                                           "y, part 2 of 2 (2 to 4 along axis 1), shares"));
}

// As of detectors with several scales: [1,2,2,2] and [1,2,1,1] are [1,2,4] and [1,2,1].
TEST(OutputParts, of_each_scale_are_parts_of_all) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {1}, {2}, {2}})
      .weight(tensor_of<std::int64_t>("flat", DType::i64, {3}, {1, 2, -1}))
      .weight(tensor_of<std::int64_t>("row", DType::i64, {2}, {1, -1}))
      .node("GlobalMaxPool", {"x"}, {"small"});
  for (const std::string scale : {"x", "small"})
    builder.node("Neg", {scale}, {scale + "_box"})
        .node("Sigmoid", {scale}, {scale + "_score"})
        .node("Concat", {scale + "_box", scale + "_score"}, {scale + "_both"},
              {int_attribute("axis", 1)})
        .node("Reshape", {scale + "_both", "flat"}, {scale + "_flat"});
  builder.node("Concat", {"x_flat", "small_flat"}, {"joined"}, {int_attribute("axis", -1)});
  GraphBuilder cut = builder;
  builder.node("Identity", {"joined"}, {"y"}).output("y", DType::f32, {{1}, {2}, {5}});
  EXPECT_THAT(
      parts_of(builder.model()),
      ElementsAre("y, part 1 of 2 (0 to 3 along axis 2)", "y, part 2 of 2 (4 along axis 2)",
                  "y, part 1 of 2 (0 along axis 1)", "y, part 2 of 2 (1 along axis 1), shares"));
  cut.node("Reshape", {"joined", "row"}, {"y"}).output("y", DType::f32, {{1}, {10}});
  EXPECT_THAT(parts_of(cut.model()), IsEmpty());
}

TEST(OutputParts, inputs_constants_and_ids_are_none) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {2}})
      .weight(tensor_of<float>("anchors", DType::f32, {1, 2}, {1, 2}))
      .node("Neg", {"x"}, {"value"})
      .node("ArgMax", {"x"}, {"index"}, {int_attribute("axis", 1)})
      .node("Cast", {"index"}, {"id"}, {int_attribute("to", 1)})
      .node("Concat", {"x", "anchors", "value", "id"}, {"y"}, {int_attribute("axis", 1)})
      .output("y", DType::f32, {{1}, {7}});
  EXPECT_THAT(parts_of(builder.model()), ElementsAre("y, part 3 of 4 (4 to 5 along axis 1)"));
}

TEST(OutputParts, are_cut_out_along_their_axis) {
  const Tensor tensor =
      tensor_of<float>("y", DType::f32, {2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const OutputPart part{.axis = 1, .begin = 1, .end = 3, .length = 3};
  EXPECT_TRUE(has_part(tensor, part));
  EXPECT_EQ(slice_of(tensor, part),
            tensor_of<float>("y", DType::f32, {2, 2, 2}, {2, 3, 4, 5, 8, 9, 10, 11}));
  EXPECT_FALSE(has_part(tensor, {.axis = 1, .begin = 1, .end = 3, .length = 4}));
  EXPECT_FALSE(has_part(tensor, {.axis = 3, .begin = 0, .end = 1, .length = 2}));
}

TEST(OutputParts, scores_that_are_lost_beside_large_boxes_fail) {
  const Model reference = detector_model();
  const std::string scores = "output y, part 2 of 2 (2 to 4 along axis 1): sqnr_db";
  const auto names_scores = Contains(::testing::StartsWith(scores));
  const CompareResult quantized = compared(reference, quantized_detector());
  EXPECT_GT(quantized.exact_outputs[0].similarity.statistics[0].mean, 40);
  EXPECT_EQ(quantized.verdict.outcome, Outcome::fail);
  EXPECT_THAT(failure_texts(quantized.verdict), names_scores);
  const CompareResult other = compared(reference, detector_model("HardSigmoid"));
  EXPECT_EQ(other.verdict.outcome, Outcome::fail);
  EXPECT_THAT(failure_texts(other.verdict), names_scores);
  EXPECT_TRUE(compared(reference, detector_model()).verdict.pass());
}

TEST(OutputParts, are_found_in_the_candidate_where_the_reference_is_no_onnx_model) {
  const Model reference = detector_model(), candidate = quantized_detector();
  OrtRunner runner(reference.clone(), {});
  CompareModelsOptions options{.weights = false};
  options.compare.limits = default_limits(Precision::int8);
  options.compare.evidence.real_inputs = true;
  const Inputs inputs = make_inputs(candidate, {.samples = 2});
  const CompareResult result = compare_models(
      {.reference_runner = &runner, .candidate = ModelIndex(candidate)}, *inputs.samples, options);
  EXPECT_EQ(result.verdict.outcome, Outcome::fail);
  EXPECT_EQ(result.parts.size(), 2);
}

TEST(OutputParts, are_shown_and_not_judged_where_the_limits_are_the_users) {
  CompareModelsOptions options;
  options.compare.limits = {{.metric = "sqnr_db", .fails = Limit::Fails::below, .value = 20}};
  options.compare.evidence.own_limits = true;
  const CompareResult result = compared(detector_model(), quantized_detector(), options);
  EXPECT_TRUE(result.verdict.pass());
  EXPECT_EQ(result.parts.size(), 2);
}

// On inputs with nothing to be found scores are next to nothing, and lost without a loss.
TEST(OutputParts, scores_of_next_to_nothing_prove_nothing) {
  const CompareResult result = compared(detector_model("Sigmoid", -8), quantized_detector(-8));
  EXPECT_EQ(result.verdict.outcome, Outcome::inconclusive);
  ASSERT_FALSE(result.verdict.doubts.empty());
  EXPECT_EQ(result.verdict.doubts[0].kind, DoubtKind::quiet_part);
}

TEST(OutputParts, what_is_zero_to_the_reference_is_not_judged) {
  const auto model = [](float added) {
    return GraphBuilder()
        .input("x", DType::f32, {{1}, {2}})
        .weight(tensor_of<float>("zero", DType::f32, {}, {0}))
        .weight(tensor_of<float>("added", DType::f32, {}, {added}))
        .node("Mul", {"x", "zero"}, {"nothing"})
        .node("Add", {"nothing", "added"}, {"dead"})
        .node("Neg", {"x"}, {"alive"})
        .node("Concat", {"alive", "dead"}, {"y"}, {int_attribute("axis", 1)})
        .output("y")
        .model();
  };
  const CompareResult result = compared(model(0), model(1e-7F));
  EXPECT_TRUE(result.verdict.pass());
  ASSERT_EQ(result.parts.size(), 2);
  EXPECT_EQ(result.parts[1].pair.similarity.samples, 0);
}

// A sample measured elsewhere shows its parts.
TEST(OutputParts, are_kept_in_the_records_of_samples) {
  SampleRecords records;
  CompareModelsOptions options;
  options.compare.records = &records;
  const Model reference = detector_model(), candidate = quantized_detector();
  const CompareResult first = compared(reference, candidate, options);
  const CompareResult again = compared(reference, candidate, options);
  EXPECT_EQ(first.parts, again.parts);
  EXPECT_EQ(again.verdict.outcome, Outcome::fail);
}

}  // namespace
}  // namespace vernier
