#include "vernier/analysis/compare/output_failures.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

TEST(OutputFailures, judged_outputs_are_exact_and_before_a_final_activation) {
  const PairResult shown{.name = "y", .pooled_sqnr_db = 1}, exact{.name = "y", .pooled_sqnr_db = 2};
  PairResult before{.name = "y", .pooled_sqnr_db = 3};
  CompareResult result{.outputs = {shown}};
  EXPECT_EQ(judged_outputs(result), std::vector{shown});
  result.exact_outputs = {exact};
  EXPECT_EQ(judged_outputs(result), std::vector{exact});
  result.before_activation = {before};
  EXPECT_EQ(judged_outputs(result), std::vector{before});
  // An input of the activation that was not compared on all samples is no substitute.
  result.before_activation[0].similarity.samples = -1;
  EXPECT_EQ(judged_outputs(result), std::vector{exact});
  result.before_activation = {before};
  result.before_activation[0].status = PairStatus::shape_mismatch;
  EXPECT_EQ(judged_outputs(result), std::vector{exact});
}

}  // namespace
}  // namespace vernier
