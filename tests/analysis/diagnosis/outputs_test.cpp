#include <gtest/gtest.h>

#include "vernier/analysis/diagnosis/ask.h"

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

}  // namespace
}  // namespace vernier
