#include <gtest/gtest.h>

#include "tests/quantized_copy.h"
#include "vernier/analysis/diagnosis/ask.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

// A quantized candidate whose output has `output_db`, and `float_db` without its quantizers, of
// which some stay on.
DiagnosisResult failed(double output_db, double float_db, bool only_fine) {
  PairResult output{.name = "y"};
  output.similarity.samples = 1;
  output.similarity.statistics[0].mean = output_db;
  CompareResult compare{.outputs = {output}};
  compare.evidence.quantized = true;
  compare.evidence.structure = StructureEvidence{.output = "y",
                                                 .sqnr_db = float_db,
                                                 .unswitched = 3,
                                                 .first_unswitched = "bias",
                                                 .only_fine = only_fine};
  compare.verdict.outcome = Outcome::fail;
  DiagnosisResult result{.compare = compare};
  for (const Question question : {Question::place, Question::remedy})
    result.answers.push_back({question});
  return result;
}

TEST(DiagnosedOutputs, are_not_quantizations_fault_if_quantizers_change_nothing) {
  DiagnosisResult fine = failed(6, 6.5, true), coarse = failed(6, 6.5, false);
  EXPECT_TRUE(explained_by_comparison(fine));
  EXPECT_EQ(fine.cause, DiagnosedCause::other_structure);
  EXPECT_TRUE(explained_by_comparison(coarse));
  EXPECT_EQ(coarse.cause, DiagnosedCause::not_quantization);
}

TEST(DiagnosedOutputs, may_be_quantizations_fault_if_quantizers_change_much) {
  DiagnosisResult better = failed(6, 20, true), right = failed(6, 40, true);
  EXPECT_FALSE(explained_by_comparison(better));
  EXPECT_FALSE(explained_by_comparison(right));
}

TEST(DiagnosedOutputs, are_not_blamed_on_inputs_if_the_structure_is_unproven) {
  DiagnosisResult result = failed(30, 40, false);
  Verdict& verdict = result.compare->verdict;
  verdict.outcome = Outcome::inconclusive;
  verdict.doubts = {{.kind = DoubtKind::unproven_structure, .subject = "bias"}};
  EXPECT_TRUE(explained_by_comparison(result));
  EXPECT_EQ(result.cause, DiagnosedCause::unknown);
}

Model two_layers() {
  const auto matrix = [](const std::string& name, int seed) {
    Tensor weight = make_tensor(name, DType::f32, {8, 8});
    for (int i = 0; i < 64; ++i)
      elements<float>(weight)[i] = 0.1F * static_cast<float>((i * 37 + seed) % 11 - 5);
    return weight;
  };
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4}, {8}}).output("y");
  builder.weight(matrix("w1", 1)).weight(matrix("w2", 4));
  builder.node("MatMul", {"x", "w1"}, {"a"}).node("MatMul", {"a", "w2"}, {"y"});
  return builder.model();
}

class Ramps : public Samples {
 public:
  std::int64_t size() const override { return 4; }
  std::vector<Tensor> sample(std::int64_t index) override {
    Tensor x = make_tensor("x", DType::f32, {4, 8});
    for (int i = 0; i < 32; ++i)
      elements<float>(x)[i] =
          0.2F * static_cast<float>((i * 29 + 13 * static_cast<int>(index)) % 17 - 8);
    return {std::move(x)};
  }
};

// A node that makes most of the noise may do so because its quantizer clips.
TEST(UnfitRange, is_named_with_what_a_fitting_one_gains) {
  const Model reference = two_layers();
  Ramps samples;
  std::vector<std::vector<Tensor>> calibration;
  for (std::int64_t i = 0; i < samples.size(); ++i) calibration.push_back(samples.sample(i));
  Model candidate = quantized_copy(reference, calibration);
  const auto diagnosed = [&] {
    DiagnosisResult result{.cause = DiagnosedCause::quantized_nodes, .subject = "MatMul"};
    result.compare = CompareResult();
    result.compare->evidence.real_inputs = true;
    const ModelIndex expected(reference), found(candidate);
    result.compare->evidence.weights = compare_weights_of(expected, found);
    name_unfit_range(result, {.reference = &expected, .candidate = found}, samples, {});
    return result;
  };
  EXPECT_EQ(diagnosed().cause, DiagnosedCause::quantized_nodes);
  Tensor scale = candidate.tensor(initializer(candidate, "a_scale"));
  elements<float>(scale)[0] /= 4;
  initializer(candidate, "a_scale") = make_tensor_proto(scale);
  const DiagnosisResult clipped = diagnosed();
  EXPECT_EQ(clipped.cause, DiagnosedCause::narrow_range);
  EXPECT_EQ(clipped.subject, "a");
  ASSERT_TRUE(clipped.range);
  EXPECT_NEAR(clipped.range->overflow, 4, 0.5);
  EXPECT_GT(clipped.range->gain_db, 10);
  EXPECT_LT(4 * clipped.range->range.high, 1.1 * clipped.range->seen.high);
}

}  // namespace
}  // namespace vernier
