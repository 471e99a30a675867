#include "vernier/report/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace vernier {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string layers = R"({"command": "layers", "run": {"candidate": "a<b.onnx"},
  "verdict": {"outcome": "fail", "failures": [{"kind": "broken", "group": "layer",
              "subject": "fc, \"last\"", "text": "layer fc, \"last\": max_abs_diff 2.5 > 1"}],
              "doubts": []},
  "layers": [
    {"layer": "conv", "tensor": "/conv/Conv", "max_abs_diff": 1e-7, "sqnr_db": 130.5,
     "exceeds_tol": false, "shape": [1, 2], "nan": {"reference": 0}},
    {"layer": "fc, \"last\"", "tensor": null, "max_abs_diff": 2.5, "sqnr_db": "inf",
     "exceeds_tol": true, "cause": "weight_mismatch", "nan": {"reference": 3}}]})";

TEST(Rows, csv_has_a_column_for_each_number_and_text_and_quotes_what_needs_it) {
  EXPECT_EQ(render_csv(layers),
            "kind,layer,tensor,max_abs_diff,sqnr_db,exceeds_tol,nan_reference,cause\r\n"
            "layer,conv,/conv/Conv,1e-07,130.5,false,0,\r\n"
            "layer,\"fc, \"\"last\"\"\",,2.5,inf,true,3,weight_mismatch\r\n");
}

TEST(Rows, metrics_are_columns_of_their_own_name) {
  EXPECT_EQ(render_csv(R"({"command": "eval", "outputs": [
                {"name": "y", "pass": true, "metrics": {"sqnr_db_mean": 30.0}}]})"),
            "kind,name,pass,sqnr_db_mean\r\noutput,y,true,30.0\r\n");
  EXPECT_EQ(render_csv(R"({"command": "eval"})"), "kind\r\n");
}

TEST(Rows, an_interrupted_run_says_so) {
  const std::string rows =
      R"({"command": "eval", "interrupted": true, "outputs": [{"name": "y", "sqnr_db": 30.5}]})";
  EXPECT_EQ(render_csv(rows), "kind,interrupted,name,sqnr_db\r\noutput,true,y,30.5\r\n");
  EXPECT_EQ(render_csv(R"({"command": "sweep", "interrupted": true})"),
            "kind,interrupted\r\nrun,true\r\n");
  EXPECT_THAT(render_junit(rows), HasSubstr("name=\"interrupted\">\n      <failure"));
  EXPECT_THAT(render_model_explorer(rows), HasSubstr("interrupted run"));
  EXPECT_THAT(render_junit(layers), ::testing::Not(HasSubstr("interrupted")));
}

TEST(Rows, what_this_cpus_kernels_lose_is_said_of_every_row) {
  const std::string lossy =
      R"({"command": "eval", "runtime_loss_db": 6.25, "runtime_finding": "6.2 dB are lost",)"
      R"( "outputs": [{"name": "y", "sqnr_db": 21}]})";
  EXPECT_EQ(render_csv(lossy), "kind,runtime_loss_db,name,sqnr_db\r\noutput,6.25,y,21\r\n");
  EXPECT_THAT(render_junit(lossy), HasSubstr("<system-out>6.2 dB are lost"));
  const std::string exact =
      R"({"command": "eval", "runtime_loss_db": 0.1, "outputs": [{"name": "y", "sqnr_db": 21}]})";
  EXPECT_EQ(render_csv(exact), "kind,name,sqnr_db\r\noutput,y,21\r\n");
  EXPECT_THAT(render_junit(exact), ::testing::Not(HasSubstr("system-out")));
}

TEST(Rows, junit_has_the_verdict_and_every_row_as_a_test_case) {
  const std::string text = render_junit(layers);
  EXPECT_THAT(text, StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"));
  EXPECT_THAT(text,
              HasSubstr("<testsuite name=\"layers a&lt;b.onnx\" tests=\"3\" failures=\"2\">"));
  EXPECT_THAT(text, HasSubstr("<testcase classname=\"layers.layer\" name=\"conv\"/>"));
  EXPECT_THAT(text, HasSubstr("name=\"fc, &quot;last&quot;\">\n      <failure type=\"fail\" "
                              "message=\"weight_mismatch: max_abs_diff 2.5 &gt; 1\"/>"));
  EXPECT_THAT(text, HasSubstr("name=\"verdict\">\n      <failure type=\"fail\" "
                              "message=\"layer fc, &quot;last&quot;: max_abs_diff 2.5 &gt; 1\"/>"));
}

TEST(Rows, a_row_fails_only_by_a_failure_of_the_verdict) {
  const std::string text = render_junit(R"({"command": "debug", "verdict": {"outcome": "fail",
      "failures": [{"group": "output", "subject": "logits", "metric": "cumulative",
                    "text": "output logits: cumulative 30 < 90"}], "doubts": []},
      "activations": [{"tensor_name": "logits", "local_sqnr_db": 30}],
      "model_outputs": [{"output_name": "logits", "cumulative_sqnr_db": 30}]})");
  EXPECT_THAT(text, HasSubstr("classname=\"debug.output\" name=\"logits\">\n      <failure "
                              "type=\"fail\" message=\"cumulative 30 &lt; 90\"/>"));
  EXPECT_THAT(text, HasSubstr("classname=\"debug.tensor\" name=\"logits\"/>"));
}

TEST(Rows, a_row_with_a_verdict_of_its_own_is_judged_by_it) {
  const std::string text = render_junit(R"({"command": "zoo", "verdict": {"outcome": "inconclusive",
      "failures": [], "doubts": [{"text": "of 1 row 1 INCONCLUSIVE"}]},
      "rows": [{"name": "cnn int8", "outcome": "inconclusive", "failures": ["unlike inputs"]}]})");
  EXPECT_THAT(text, HasSubstr("name=\"cnn int8\">\n      <failure type=\"fail\" "
                              "message=\"unlike inputs\"/>"));
}

TEST(Rows, a_row_that_was_not_measured_is_no_pass) {
  const std::string text = render_junit(R"({"command": "zoo", "verdict": {"outcome": "inconclusive",
      "failures": [], "doubts": [{"text": "1 row is missing"}]},
      "rows": [{"name": "cnn int8", "state": "missing", "pass": false, "outcome": null,
                "failures": []}]})");
  EXPECT_THAT(text, HasSubstr("name=\"cnn int8\">\n      <failure type=\"fail\" "
                              "message=\"missing\"/>"));
}

TEST(Rows, a_fused_layer_fails_by_the_failure_of_its_weight) {
  const std::string text = render_junit(R"({"command": "layers", "verdict": {"outcome": "fail",
      "failures": [{"group": "weight", "subject": "w1", "text": "weight w1: 3 dB"}], "doubts": []},
      "layers": [{"layer": "fc", "cause": "weight_bit_mismatch", "max_abs_diff": null},
                 {"layer": "norm", "cause": null, "max_abs_diff": 0}]})");
  EXPECT_THAT(text, HasSubstr("name=\"fc\">\n      <failure type=\"fail\" "
                              "message=\"weight_bit_mismatch: weight w1: 3 dB\"/>"));
  EXPECT_THAT(text, HasSubstr("classname=\"layers.layer\" name=\"norm\"/>"));
}

TEST(Rows, what_passes_has_no_failed_test_though_rows_drift) {
  const std::string text = render_junit(R"({"command": "layers", "verdict": {"outcome": "pass"},
      "layers": [{"layer": "conv", "exceeds_tol": true, "cause": "inherited", "max_abs_diff": 2}]})");
  EXPECT_THAT(text, HasSubstr("tests=\"2\" failures=\"0\""));
}

TEST(Rows, an_inconclusive_verdict_is_no_pass) {
  const std::string text = render_junit(
      R"({"command": "eval", "verdict": {"outcome": "inconclusive", "failures": [],
          "doubts": [{"kind": "unknown_inputs", "text": "nothing tells"}]}})");
  EXPECT_THAT(text, HasSubstr("<failure type=\"inconclusive\" message=\"nothing tells\""));
}

TEST(Rows, a_diagnosis_says_its_cause) {
  const std::string text = render_junit(
      R"({"command": "diagnose", "cause": {"kind": "other_bias", "text": "the bias b is another"},
          "verdict": {"outcome": "fail", "failures": [{"text": "output y: 3 dB"}], "doubts": []}})");
  EXPECT_THAT(text, HasSubstr("message=\"cause: the bias b is another; output y: 3 dB\""));
}

TEST(Rows, an_error_of_check_is_a_failure_and_a_note_is_none) {
  const std::string text = render_junit(R"({"command": "check", "verdict": {"outcome": "fail",
      "failures": [{"subject": "", "group": "", "metric": "errors", "text": "errors 1 > 0"}]},
      "findings": [
      {"id": "nan", "severity": "error", "evidence": "NaN in y"},
      {"id": "shapes", "severity": "note", "evidence": "none"}]})");
  EXPECT_THAT(text, HasSubstr("tests=\"3\" failures=\"2\""));
  EXPECT_THAT(text, HasSubstr("message=\"NaN in y\""));
}

TEST(Rows, model_explorer_gets_a_figure_for_each_tensor_that_has_one) {
  const auto data = nlohmann::json::parse(render_model_explorer(layers));
  EXPECT_EQ(data["results"], (nlohmann::json{{"/conv/Conv", {{"value", 130.5}}}}));
  EXPECT_EQ(data["thresholds"].size(), 3U);
}

TEST(Rows, model_explorer_knows_nodes_by_their_names) {
  const auto results_with = [](const std::string& node) {
    const std::string graph = R"({"tensors": ["x", "/conv/Conv"], "nodes": [{"name": ")" + node +
                              R"(", "op": "Conv", "in": [0, -1], "out": [1, -1]}]})";
    return nlohmann::json::parse(render_model_explorer(layers, graph))["results"];
  };
  EXPECT_EQ(results_with("node_conv"), (nlohmann::json{{"node_conv", {{"value", 130.5}}}}));
  // As a node without a name is shown.
  EXPECT_EQ(results_with("Conv(/conv/Conv)"), (nlohmann::json{{"/conv/Conv", {{"value", 130.5}}}}));
}

TEST(Rows, a_diagnosis_shows_the_rows_of_what_looked_deepest) {
  const std::string text = render_csv(R"({"command": "diagnose",
      "eval": {"command": "eval", "outputs": [{"name": "y"}]},
      "debug": {"command": "debug", "activations": [{"tensor_name": "x", "verdict": "healthy"}]}})");
  EXPECT_EQ(text, "kind,tensor_name,verdict\r\ntensor,x,healthy\r\n");
}

TEST(Rows, names_out_of_files_cannot_break_out) {
  const std::string hostile =
      R"({"command": "diff", "arrays": [{"name": "a\u001b]0;x\u0007<\/testcase>", "pass": true}]})";
  EXPECT_THAT(render_junit(hostile), ::testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(render_junit(hostile), HasSubstr("&lt;/testcase&gt;"));
  EXPECT_THAT(render_csv(hostile), ::testing::Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace vernier
