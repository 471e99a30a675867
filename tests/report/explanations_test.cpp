#include "vernier/report/explanations.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/failure.h"
#include "vernier/analysis/check/finding_kinds.h"

namespace vernier {
namespace {

TEST(Explanations, are_as_many_as_kinds_of_findings_and_in_their_order) {
  EXPECT_TRUE(
      std::ranges::equal(explanations(), finding_kinds(), {}, &Explanation::id, &FindingKind::id));
}

TEST(Explanations, every_entry_is_complete) {
  for (const Explanation& entry : explanations()) {
    for (const std::string_view text : {entry.title, entry.what, entry.why, entry.remedy})
      EXPECT_FALSE(text.empty()) << entry.id;
    for (const std::string_view text : {entry.what, entry.why, entry.remedy})
      EXPECT_TRUE(text.ends_with(".")) << entry.id << ": " << text;
  }
}

TEST(Explanations, an_unknown_id_names_those_that_are_close) {
  EXPECT_EQ(explanation("float64").title, "float64 is left in the graph");
  EXPECT_EQ(failure_of([] { explanation("fixed_batch"); }),
            "[check] finding 'fixed_batch': there is none of that name; did you mean fixed-batch, "
            "mixed-batch?");
}

}  // namespace
}  // namespace vernier
