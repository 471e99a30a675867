#include "vernier/report/runtime_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "vernier/report/compare.h"
#include "vernier/report/terminal.h"

namespace vernier {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

RuntimeLoss lossy(std::optional<RuntimeRemedy> remedy) {
  return {.db = 6.25,
          .why = ArithmeticLoss{.output = "y",
                                .exact_db = 30,
                                .as_run_db = 23.75,
                                .precise_db = 24,
                                .first_operator = InexactOperator{"attention", "QLinearSoftmax"},
                                .remedy = std::move(remedy)},
          .candidate = "q.onnx",
          .reference = "f.onnx"};
}

TEST(RuntimeLoss, what_is_too_little_is_not_told) {
  EXPECT_EQ(runtime_loss_text({.db = 0.4}), "");
  EXPECT_EQ(runtime_loss_text({.db = std::nullopt}), "");
}

// Where a run has shown what gives it back, and only there, that is advised.
TEST(RuntimeLoss, without_a_remedy_the_operator_is_named_and_what_did_not_help) {
  EXPECT_THAT(runtime_loss_text({.db = 6.25}), Not(HasSubstr("x64quantprecision")));
  RuntimeLoss loss = lossy(std::nullopt);
  EXPECT_EQ(
      runtime_loss_text(loss),
      "6.2 dB are lost in this ONNX Runtime's arithmetic, not in the file, first at attention "
      "(QLinearSoftmax), and session.x64quantprecision=1 does not recover them; eval "
      "--stages names the optimisation");
  loss.has_stages = true;
  EXPECT_THAT(runtime_loss_text(loss), Not(HasSubstr("--stages")));
}

TEST(RuntimeLoss, a_session_option_comes_with_the_code_that_sets_it) {
  const std::string text =
      runtime_loss_text(lossy(RuntimeRemedy{RuntimeRemedy::Kind::float_products, {}, 29.9}));
  EXPECT_THAT(text, HasSubstr("; session.qdq_matmulnbits_accuracy_level=1 recovers them (23.75 "
                              "-> 29.90 dB): "));
  EXPECT_THAT(text,
              HasSubstr("add_session_config_entry(\"session.qdq_matmulnbits_accuracy_level\", "
                        "\"1\") in Python"));
  EXPECT_THAT(text, HasSubstr("AddConfigEntry(\"session.qdq_matmulnbits_accuracy_level\", \"1\") "
                              "in C++"));
  EXPECT_THAT(runtime_loss_text(lossy(RuntimeRemedy{RuntimeRemedy::Kind::x64_precision, {}, 30})),
              EndsWith("session.x64quantprecision=1 recovers them"));
}

TEST(RuntimeLoss, a_node_to_keep_in_float_comes_with_its_command) {
  EXPECT_THAT(
      runtime_loss_text(
          lossy(RuntimeRemedy{RuntimeRemedy::Kind::keep_in_float, {"attention"}, 29.9})),
      EndsWith("; attention in float recovers them (23.75 -> 29.90 dB): vernier tune q.onnx "
               "--reference f.onnx --keep attention -o q.mixed.onnx"));
}

TEST(RuntimeLoss, stages_with_the_same_outputs_share_a_line) {
  CompareResult result;
  result.stages = {{.name = "exact", .sqnr_db = 30, .change_db = INFINITY},
                   {.name = "off", .sqnr_db = 30, .change_db = INFINITY},
                   {.name = "basic", .sqnr_db = 30, .change_db = 70},
                   {.name = "extended", .sqnr_db = 24, .change_db = 25, .is_moved = true},
                   {.name = "all", .sqnr_db = 24, .change_db = INFINITY}};
  const std::string text = render_terminal(describe_compare({.command = "eval"}, result), false);
  EXPECT_THAT(text, HasSubstr("exact, off "));
  EXPECT_THAT(text, HasSubstr("  basic "));
  EXPECT_THAT(text, HasSubstr("extended, all "));
}

}  // namespace
}  // namespace vernier
