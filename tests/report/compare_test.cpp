#include "vernier/report/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "vernier/report/terminal.h"

namespace vernier {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string compare_text(const CompareResult& result) {
  return render_terminal(describe_compare({}, result), false);
}

TEST(CompareReport, what_the_runtime_loses_is_said_with_the_remedy_where_it_is_notable) {
  CompareResult result{.samples = 1};
  result.runtime_loss = RuntimeLoss{"logits", 27.3, 21.1, 4};
  EXPECT_THAT(compare_json({}, result),
              AllOf(HasSubstr("\"runtime_loss_db\": 6."), HasSubstr("\"exact_sqnr_db\": 27.3")));
  EXPECT_THAT(compare_text(result),
              AllOf(HasSubstr("6.2 dB of logits are lost in this CPU's integer kernels"),
                    HasSubstr("session.x64quantprecision=1")));
  result.runtime_loss->deployed_sqnr_db = 27.1;
  EXPECT_THAT(compare_text(result), Not(HasSubstr("integer kernels")));
}

TEST(CompareReport, stages_name_what_moves_the_output) {
  CompareResult result{.samples = 1};
  result.stages = {{"exact", 27.3, INFINITY, false, {}},
                   {"extended", 21.1, 22.4, true, {"QDQSelectorActionTransformer"}}};
  EXPECT_THAT(compare_text(result), HasSubstr("moved by QDQSelectorActionTransformer"));
  EXPECT_THAT(compare_json({}, result), HasSubstr("\"change_db\": 22.4"));
}

}  // namespace
}  // namespace vernier
