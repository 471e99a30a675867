#include "vernier/analysis/check/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/check/checking.h"
#include "tests/failure.h"
#include "tests/fixture.h"
#include "tests/injected_faults.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// y = Clip(x + bias): below `most` a Clip changes nothing.
Model clipped(float bias, float most) {
  return GraphBuilder()
      .input("x", DType::f32, {{-1, "batch"}, {4, ""}})
      .weight(f32("bias", {}, {bias}))
      .weight(f32("least", {}, {-1e30F}))
      .weight(f32("most", {}, {most}))
      .node("Add", {"x", "bias"}, {"a"})
      .node("Clip", {"a", "least", "most"}, {"y"})
      .output("y", DType::f32, {{-1, "batch"}, {4, ""}})
      .model();
}

Findings compare_with(const Model& candidate, const Model& reference, double tolerance = 1e-3) {
  const TemporaryDirectory folder;
  reference.save(folder / "reference.onnx");
  return check_saved(
      candidate,
      {.only = {"output-differs"}, .reference = folder / "reference.onnx", .tolerance = tolerance});
}

TEST(ConsistencyCheck, the_same_model_is_consistent) {
  EXPECT_THAT(compare_with(clipped(0, 1e30F), clipped(0, 1e30F)), IsEmpty());
}

TEST(ConsistencyCheck, a_difference_is_told_with_its_output_and_sample) {
  const Findings found = compare_with(clipped(0, 1e30F), clipped(0.002F, 1e30F));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].subject.name, "y");
  EXPECT_EQ(evidence_text(found[0]),
            "on random sample 0 it differs by up to 0.002 from the reference, allowed 0.001");
  EXPECT_EQ(found[0].severity, Severity::error);
  EXPECT_THAT(compare_with(clipped(0, 1e30F), clipped(0.002F, 1e30F), 0.01), IsEmpty());
  EXPECT_THAT(compare_with(clipped(0, 1e30F), clipped(0.0005F, 1e30F)), IsEmpty());
}

TEST(ConsistencyCheck, a_difference_that_only_large_values_show_is_found) {
  EXPECT_THAT(told(compare_with(clipped(0, 1e30F), clipped(0, 6)), "output-differs"),
              HasSubstr("y: on large values it differs"));
}

TEST(ConsistencyCheck, a_difference_that_only_ones_show_is_found) {
  EXPECT_EQ(told(compare_with(clipped(0, 2000), clipped(0, 2000)), "output-differs"), "none");
  const Model threshold = GraphBuilder()
                              .input("x", DType::f32, {{-1, "batch"}, {4, ""}})
                              .node("Floor", {"x"}, {"y"})
                              .output("y", DType::f32, {{-1, "batch"}, {4, ""}})
                              .model();
  const Model zero = GraphBuilder()
                         .input("x", DType::f32, {{-1, "batch"}, {4, ""}})
                         .weight(f32("zero", {}, {0}))
                         .node("Mul", {"x", "zero"}, {"y"})
                         .output("y", DType::f32, {{-1, "batch"}, {4, ""}})
                         .model();
  const Findings found = compare_with(threshold, zero);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(evidence_text(found[0]), HasSubstr("on ones it differs by up to 1"));
  ASSERT_EQ(found[0].more.size(), 1u);
  EXPECT_THAT(evidence_text(found[0].more[0]), HasSubstr("on large values"));
}

TEST(ConsistencyCheck, other_shapes_are_a_difference) {
  const Model flat = GraphBuilder()
                         .input("x", DType::f32, {{-1, "batch"}, {4, ""}})
                         .weight(i64("shape", {-1}))
                         .node("Reshape", {"x", "shape"}, {"y"})
                         .output("y", DType::f32, {{-1, ""}})
                         .model();
  EXPECT_THAT(evidence_text(compare_with(flat, clipped(0, 1e30F))[0]),
              HasSubstr("it has the shape [4], the reference's is [1,4]"));
}

TEST(ConsistencyCheck, a_reference_that_is_not_finite_is_no_pass) {
  const Model logarithm = GraphBuilder()
                              .input("x", DType::f32, {{-1, "batch"}, {4, ""}})
                              .weight(f32("two", {}, {2}))
                              .node("Sub", {"x", "two"}, {"below"})
                              .node("Log", {"below"}, {"y"})
                              .output("y", DType::f32, {{-1, "batch"}, {4, ""}})
                              .model();
  const TemporaryDirectory folder;
  logarithm.save(folder / "reference.onnx");
  clipped(0, 1e30F).save(folder / "model.onnx");
  const CheckOptions options{.only = {"nonfinite-reference"},
                             .reference = folder / "reference.onnx",
                             .weight_evidence = false};
  const CheckResult result = check(folder / "model.onnx", options);
  EXPECT_EQ(told(result.findings, "nonfinite-reference"),
            "y: on random sample 0 the reference holds 4 NaN or infinities, the model 0");
  EXPECT_EQ(result.verdict.outcome, Outcome::inconclusive);
  EXPECT_THAT(result.verdict.doubts,
              testing::ElementsAre(Doubt{DoubtKind::unknown_reference, "y"}));
}

TEST(ConsistencyCheck, an_export_agrees_with_the_pytorch_model_it_came_from) {
  if (torch_version().empty()) GTEST_SKIP() << "this build has no libtorch";
  for (const std::string name : {"mnist/mnist_cnn", "mnist/mnist_vit"})
    EXPECT_THAT(
        serious(check(fixture(name + ".onnx"), {.reference = fixture(name + ".pt")}).findings),
        IsEmpty());
}

TEST(ConsistencyCheck, a_quantized_model_on_random_inputs_is_only_noted) {
  const Findings found =
      check(fixture("mnist/mnist_cnn.int8.onnx"), {.reference = fixture("mnist/mnist_cnn.onnx")})
          .findings;
  for (const Finding& finding : found) EXPECT_EQ(finding.severity, Severity::note);
}

TEST(ConsistencyCheck, a_quantized_model_that_differs_is_to_be_compared_on_inputs_of_its_own) {
  Model reference = Model::load(fixture("mnist/mnist_cnn.onnx"));
  ASSERT_TRUE(roll_weight(reference));
  const Findings found = compare_with(Model::load(fixture("mnist/mnist_cnn.int8.onnx")), reference);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].severity, Severity::note);
  EXPECT_THAT(evidence_text(found[0]),
              AllOf(HasSubstr("on random sample 0 it has "), HasSubstr(" dB, expected ")));
  EXPECT_EQ(remedy_text(found[0]),
            "Compare on inputs like those of its calibration, with --input-data.");
}

TEST(ConsistencyCheck, a_recording_needs_its_inputs) {
  EXPECT_THAT(failure_of([] {
                check(fixture("mnist/mnist_cnn.onnx"),
                      {.reference = fixture("mnist/mnist_reference_outputs.npz")});
              }),
              HasSubstr("pass these with --input-data"));
}

TEST(ConsistencyCheck, a_reference_that_is_not_there_ends_the_work) {
  EXPECT_THAT(
      failure_of([] { check(fixture("mnist/mnist_cnn.onnx"), {.reference = "nowhere.pt"}); }),
      HasSubstr("no such file"));
}

}  // namespace
}  // namespace vernier
