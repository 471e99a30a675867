#include "vernier/report/envelope.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "vernier/report/terminal.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

RunDescription example() {
  return {.command = "eval",
          .candidate = "m.int8.onnx",
          .reference = "m.onnx",
          .precision = "int8",
          .inputs = "random uniform, seed 42",
          .samples = 8,
          .settings = {{"low_db", 20.0}, {"strict", true}}};
}

TEST(Envelope, text_says_what_was_run_then_the_result_then_warnings_and_the_verdict_last) {
  const Verdict verdict{
      .outcome = Outcome::pass,
      .limits = {{.metric = "sqnr_db", .fails = Limit::Fails::below, .value = 20}}};
  const Document document =
      report_document({example(), {"few samples"}, &verdict}, {Paragraph{{"the result"}}});
  EXPECT_EQ(render_terminal(document, false),
            "  candidate  m.int8.onnx (int8)\n"
            "  reference  m.onnx\n"
            "  samples    8 (random uniform, seed 42)\n"
            "  low db     20\n"
            "  strict     yes\n"
            "  fails if   sqnr_db<20\n\n"
            "the result\n\n"
            "warning: few samples\n\n"
            "PASS\n");
}

TEST(Envelope, json_has_the_same_facts_and_nothing_for_what_was_not_judged) {
  const Verdict verdict{.outcome = Outcome::fail};
  const Json json = report_json<Json>({example(), {}, &verdict});
  EXPECT_EQ(json["schema_version"], 2);
  EXPECT_EQ(json["command"], "eval");
  EXPECT_EQ(json["run"], (Json{{"candidate", "m.int8.onnx"},
                               {"reference", "m.onnx"},
                               {"precision", "int8"},
                               {"inputs", "random uniform, seed 42"},
                               {"samples", 8},
                               {"low_db", 20.0},
                               {"strict", true}}));
  EXPECT_EQ(json["verdict"]["outcome"], "fail");
  EXPECT_EQ(json["pass"], false);
  EXPECT_FALSE(report_json<Json>({.run = example()}).contains("verdict"));
}

TEST(Envelope, a_pass_without_limits_is_no_verdict_in_text_and_in_json) {
  const Verdict comparable{.outcome = Outcome::pass};
  const Json json = report_json<Json>({example(), {}, &comparable});
  EXPECT_FALSE(json.contains("verdict"));
  EXPECT_FALSE(json.contains("pass"));
  EXPECT_TRUE(render_terminal(report_document({example(), {}, &comparable}, {}), false)
                  .ends_with("no limits were given: nothing was judged\n"));
}

TEST(Envelope, an_interrupted_run_says_so) {
  RunDescription run = example();
  run.interrupted = true;
  EXPECT_NE(render_terminal(report_document({.run = run}, {}), false).find("interrupted"),
            std::string::npos);
  EXPECT_EQ(report_json<Json>({.run = run})["interrupted"], true);
}

}  // namespace
}  // namespace vernier
