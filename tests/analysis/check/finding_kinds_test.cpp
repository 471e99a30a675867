#include "vernier/analysis/check/finding_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/failure.h"
#include "vernier/analysis/check/operators.h"
#include "vernier/close_names.h"

namespace vernier {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FindingKinds, ids_are_unique) {
  std::set<std::string_view> ids;
  for (const FindingKind& kind : finding_kinds())
    EXPECT_TRUE(ids.insert(kind.id).second) << kind.id;
}

TEST(FindingKinds, an_unknown_id_names_those_that_are_close) {
  EXPECT_EQ(finding_kind("float64").group, CheckGroup::numerics);
  EXPECT_EQ(failure_of([] { finding_kind("fixed_batch"); }),
            "[check] finding 'fixed_batch': there is none of that name; did you mean fixed-batch, "
            "mixed-batch?");
  EXPECT_THAT(failure_of([] { finding_kind("xyzzy"); }),
              AllOf(HasSubstr("there are unreadable-file"), HasSubstr("unquantized-operator")));
}

TEST(CloseNames, come_the_closest_first) {
  const std::vector<std::string> names = {"Conv", "ConvTranspose", "Concat", "Relu"};
  EXPECT_THAT(close_names("conf", names), ElementsAre("Conv"));
  EXPECT_THAT(close_names("Covn", names), ElementsAre("Conv"));
  EXPECT_THAT(close_names("Transpose", names), ElementsAre("ConvTranspose"));
  EXPECT_THAT(close_names("Softmax", names), IsEmpty());
  EXPECT_THAT(close_names("", names), IsEmpty());
}

TEST(Operators, know_when_they_came_and_went) {
  EXPECT_EQ(operator_history("LayerNormalization"), (OperatorHistory{.since = 17}));
  EXPECT_EQ(operator_history("Scatter"), (OperatorHistory{9, 11, "ScatterElements"}));
  EXPECT_EQ(operator_history("Foo"), std::nullopt);
  EXPECT_TRUE(exists_in(*operator_history("Upsample"), 9));
  EXPECT_FALSE(exists_in(*operator_history("Upsample"), 10));
  EXPECT_FALSE(exists_in(*operator_history("Where"), 8));
}

TEST(Operators, opsets_came_with_versions_of_the_format) {
  EXPECT_EQ(ir_version_of(7), 3);
  EXPECT_EQ(ir_version_of(14), 7);
  EXPECT_EQ(ir_version_of(18), 8);
  EXPECT_EQ(ir_version_of(22), 10);
}

}  // namespace
}  // namespace vernier
