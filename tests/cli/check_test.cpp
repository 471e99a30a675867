#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/injected_faults.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using ::testing::EndsWith;
using testing::expect_error;
using testing::expect_golden;
using testing::expect_valid_json;
using testing::expect_valid_sarif;
using ::testing::HasSubstr;
using testing::read_text;
using testing::run_vernier;

// A model with an error, a warning and more notes than are shown.
std::string faulty_model(const TemporaryDirectory& folder) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{-1, "batch"}, {4, ""}})
      .weight(tensor_of<std::int64_t>("shape", DType::i64, {2}, {1, 4}))
      .weight(tensor_of<float>("unused", DType::f32, {256}, std::vector<float>(256, 1)))
      .node("Reshape", {"x", "shape"}, {"t0"});
  for (int i = 0; i < 8; ++i)
    builder.node("Identity", {"t" + std::to_string(i)}, {"t" + std::to_string(i + 1)});
  builder.node("Relu", {"t8"}, {"y"}).output("y", DType::f32, {{-1, "batch"}, {4, ""}});
  const std::string path = folder / "faulty.onnx";
  builder.model().save(path);
  return path;
}

const std::string good = fixture("mnist/mnist_cnn.onnx");

TEST(CheckCommand, a_good_export_passes) {
  const CompletedProcess outcome = run_vernier({"check", good});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, EndsWith("\nPASS\n"));
}

TEST(CheckCommand, every_format_shows_the_same_findings) {
  const TemporaryDirectory folder;
  const std::string model = faulty_model(folder);
  const CompletedProcess text = run_vernier({"check", model});
  EXPECT_EQ(text.exit_code, 1) << text.err;
  expect_golden("check.txt", text.out);
  expect_golden("check.md", run_vernier({"check", model, "-f", "md"}).out);
  const CompletedProcess json = run_vernier({"check", model, "-f", "json"});
  expect_golden("check.json", json.out);
  expect_valid_json("check", json.out);
  const CompletedProcess sarif = run_vernier({"check", model, "-f", "sarif"});
  expect_golden("check.sarif", sarif.out);
  expect_valid_sarif(sarif.out);
}

TEST(CheckCommand, every_sarif_result_belongs_to_a_rule) {
  const TemporaryDirectory folder;
  const auto sarif =
      nlohmann::json::parse(run_vernier({"check", faulty_model(folder), "-f", "sarif"}).out);
  const auto& run = sarif["runs"][0];
  ASSERT_EQ(run["results"].size(), 10u);
  for (const auto& result : run["results"])
    EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<std::size_t>()]["id"],
              result["ruleId"]);
}

TEST(CheckCommand, names_of_files_become_uris) {
  const TemporaryDirectory folder;
  const std::filesystem::path path = folder / "a model #1.onnx";
  std::ofstream(path) << "no model";
  const auto sarif = nlohmann::json::parse(run_vernier({"check", path, "-f", "sarif"}).out);
  EXPECT_EQ(
      sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
      "a%20model%20%231.onnx");
}

TEST(CheckCommand, a_file_that_ends_in_sarif_is_sarif) {
  const TemporaryDirectory folder;
  EXPECT_EQ(run_vernier({"check", good, "-o", folder / "r.sarif"}).exit_code, 0);
  expect_valid_sarif(read_text(folder / "r.sarif"));
}

TEST(CheckCommand, findings_can_be_chosen_and_left_out) {
  const TemporaryDirectory folder;
  const std::string model = faulty_model(folder);
  const CompletedProcess only = run_vernier({"check", model, "--only", "unused-initializer"});
  EXPECT_EQ(only.exit_code, 0) << only.err;
  EXPECT_THAT(only.out, EndsWith("\nPASS\n"));
  const CompletedProcess without =
      run_vernier({"check", model, "--disable", "frozen-axis,unused-initializer"});
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_THAT(without.out, EndsWith("\nPASS\n"));
}

TEST(CheckCommand, warnings_fail_when_it_is_strict) {
  const TemporaryDirectory folder;
  const std::string model = faulty_model(folder);
  const CompletedProcess strict =
      run_vernier({"check", model, "--only", "unused-initializer", "--strict"});
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_THAT(strict.out, EndsWith("FAIL: warnings 1 > 0\n"));
  EXPECT_EQ(run_vernier({"check", model, "--only", "identity-chain", "--strict"}).exit_code, 0);
}

TEST(CheckCommand, other_weights_than_the_references_fail) {
  const TemporaryDirectory folder;
  Model changed = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  ASSERT_TRUE(roll_weight(changed));
  const std::string model = folder / "changed.onnx";
  changed.save(model);
  const CompletedProcess text = run_vernier({"check", model, "--reference", good});
  EXPECT_EQ(text.exit_code, 1) << text.err;
  EXPECT_THAT(text.out, HasSubstr("not the same: "));
  EXPECT_THAT(text.out, HasSubstr("not the reference's: "));
  const CompletedProcess json = run_vernier({"check", model, "--reference", good, "-f", "json"});
  expect_valid_json("check", json.out);
  EXPECT_EQ(nlohmann::json::parse(json.out)["weight_evidence"]["answer"], "different");
  const CompletedProcess without =
      run_vernier({"check", model, "--reference", good, "--no-weights"});
  EXPECT_EQ(without.exit_code, 0) << without.out;
}

TEST(CheckCommand, what_could_not_be_run_for_want_of_memory_is_inconclusive) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer ends the program instead";
#endif
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}});
  builder.weight(tensor_of<std::int64_t>("shape", DType::i64, {2}, {1 << 24, 1 << 24}));  // 1 PB
  builder.node("Expand", {"x", "shape"}, {"a"}).node("ReduceMax", {"a"}, {"y"}).output("y");
  const TemporaryDirectory folder;
  const std::string model = folder / "huge.onnx";
  builder.model().save(model);
  for (const std::vector<std::string>& strict : {std::vector<std::string>{}, {"--strict"}}) {
    std::vector<std::string> command = {"check", model, "--disable", "missing-shapes"};
    command.insert(command.end(), strict.begin(), strict.end());
    const CompletedProcess outcome = run_vernier(command);
    EXPECT_EQ(outcome.exit_code, 3) << outcome.out;
    EXPECT_THAT(outcome.out, HasSubstr("there is not enough memory"));
    EXPECT_THAT(outcome.out, HasSubstr("INCONCLUSIVE: the model could not be run"));
    EXPECT_THAT(outcome.out, HasSubstr("--input-data"));
  }
  const CompletedProcess json = run_vernier({"check", model, "-f", "json"});
  expect_valid_json("check", json.out);
  EXPECT_EQ(nlohmann::json::parse(json.out)["verdict"]["doubts"][0]["kind"], "not_run");
  // What was found is still a failure, and who does not ask for it is not told.
  EXPECT_EQ(run_vernier({"check", model, "--disable", "not-run"}).exit_code, 0);
}

TEST(CheckCommand, a_damaged_file_is_a_finding) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "broken.onnx") << "no model";
  const CompletedProcess outcome = run_vernier({"check", folder / "broken.onnx"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("error: unreadable-file"));
}

TEST(CheckCommand, what_cannot_be_checked_is_an_error) {
  expect_error(run_vernier({"check", "none.onnx"}), "no such file");
  expect_error(run_vernier({"check"}), "name the .onnx file");
  expect_error(run_vernier({"check", fixture("mnist/mnist_cnn.pt")}), "only ONNX models");
  expect_error(run_vernier({"check", good, "--only", "frozen-axes"}), "did you mean frozen-axis");
  expect_error(run_vernier({"check", good, "--disable", "xyzzy"}), "there are unreadable-file");
  expect_error(run_vernier({"check", good, "--shape", "1x2"}), "--shape");
  expect_error(run_vernier({"check", good, "--reference", "none.pt"}), "no such file");
  expect_error(run_vernier({"check", good, "--preprocessing", "none.json"}), "none.json");
  expect_error(run_vernier({"check", "--explain", "all", "-f", "sarif"}), "no SARIF");
}

TEST(CheckCommand, explain_prints_the_page_about_a_finding) {
  const CompletedProcess text = run_vernier({"check", "--explain", "frozen-axis"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("An axis is declared dynamic but is not"));
  EXPECT_THAT(text.out, HasSubstr("how to fix it"));
  expect_error(run_vernier({"check", "--explain", "frozen"}), "did you mean frozen-axis");
  expect_valid_json("check", run_vernier({"check", "--explain", "all", "-f", "json"}).out);
}

TEST(CheckCommand, the_page_of_checks_is_what_explain_prints) {
  expect_golden("../../docs/checks.md", run_vernier({"check", "--explain", "all", "-f", "md"}).out);
}

}  // namespace
}  // namespace vernier
