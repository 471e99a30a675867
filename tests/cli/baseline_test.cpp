#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using ::testing::HasSubstr;
using testing::run_vernier;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

Json read_json(const fs::path& path) { return Json::parse(std::ifstream(path)); }
void write_json(const fs::path& path, const Json& json) { std::ofstream(path) << json; }

class Baselines : public ::testing::TestWithParam<std::string> {
 protected:
  CompletedProcess run(std::vector<std::string> more) const {
    std::vector<std::string> command = {GetParam(),
                                        "-m",
                                        fixture("mnist/mnist_cnn.int8.onnx"),
                                        "--reference",
                                        fixture("mnist/mnist_cnn.onnx"),
                                        "--input-data",
                                        fixture("mnist/mnist_inputs.npz"),
                                        "--baseline",
                                        file};
    if (GetParam() == "debug") command.push_back("--quick");
    command.insert(command.end(), more.begin(), more.end());
    return run_vernier(command);
  }

  const TemporaryDirectory folder;
  const fs::path file = folder / "drift.json";
};

TEST_P(Baselines, hold_a_run_against_what_was_accepted) {
  EXPECT_EQ(run({"--update-baseline"}).exit_code, 0);
  EXPECT_EQ(run({}).exit_code, 0);
  Json baseline = read_json(file);
  // Within the tolerance still, then beyond it.
  for (Json& figure : baseline["figures"])
    figure["accepted"] = figure["accepted"].get<double>() + 0.9 * figure["tolerance"].get<double>();
  write_json(file, baseline);
  EXPECT_EQ(run({}).exit_code, 0);
  baseline["figures"][0]["accepted"] = baseline["figures"][0]["accepted"].get<double>() + 1;
  write_json(file, baseline);
  const CompletedProcess behind = run({});
  EXPECT_EQ(behind.exit_code, 1);
  EXPECT_THAT(behind.out, HasSubstr("FAIL"));
  EXPECT_THAT(behind.out, HasSubstr(baseline["figures"][0]["metric"].get<std::string>()));
}

TEST_P(Baselines, keep_tolerances_that_were_set_by_hand) {
  run({"--update-baseline"});
  Json baseline = read_json(file);
  baseline["figures"][0]["tolerance"] = 3;
  baseline["figures"][0]["accepted"] = 99;
  write_json(file, baseline);
  EXPECT_EQ(run({}).exit_code, 1);
  run({"--update-baseline"});
  const Json updated = read_json(file);
  EXPECT_EQ(updated["figures"][0]["tolerance"], 3);
  EXPECT_LT(updated["figures"][0]["accepted"], 99);
}

TEST_P(Baselines, may_hold_figures_that_must_not_rise) {
  if (GetParam() != "eval") return;  // debug has none
  write_json(file, {{"vernier_baseline", 1},
                    {"figures",
                     {{{"metric", "max_abs_diff"},
                       {"worse", "higher"},
                       {"accepted", 1e-6},
                       {"tolerance", 1e-6}}}}});
  EXPECT_EQ(run({}).exit_code, 1);
}

TEST_P(Baselines, that_cannot_be_read_end_the_run_in_one_line) {
  const auto expect = [&](const std::string& reason) {
    const CompletedProcess outcome = run({});
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(reason));
    EXPECT_THAT(outcome.err, HasSubstr("--update-baseline writes one"));
  };
  expect("no such file or folder");
  std::ofstream(file) << "{";
  expect("is no baseline (parse error");
  write_json(file, {{"vernier_baseline", 2}});
  expect("another version");
  write_json(file, {{"vernier_baseline", 1}, {"figures", Json::array()}});
  expect("holds no figures");
  write_json(file, {{"vernier_baseline", 1},
                    {"figures", {{{"metric", "speed"}, {"accepted", 1}, {"tolerance", 0}}}}});
  expect("has 'speed', which this command does not measure");
}

INSTANTIATE_TEST_SUITE_P(Commands, Baselines, ::testing::Values("eval", "debug"),
                         [](const auto& test) { return test.param; });

TEST(Baseline, of_a_task_is_its_metrics) {
  const TemporaryDirectory folder;
  const std::string file = folder / "drift.json";
  const std::vector<std::string> command = {"eval",
                                            "-m",
                                            fixture("mnist/mnist_cnn.onnx"),
                                            "--task",
                                            "image-classification",
                                            "--dataset",
                                            fixture("mnist/mnist_labelled.npz"),
                                            "--samples",
                                            "100",
                                            "--baseline",
                                            file};
  std::vector<std::string> update = command;
  update.push_back("--update-baseline");
  EXPECT_EQ(run_vernier(update).exit_code, 0);
  EXPECT_EQ(run_vernier(command).exit_code, 0);
  Json baseline = read_json(file);
  EXPECT_EQ(baseline["figures"][0]["metric"], "top1_accuracy");
  baseline["figures"][0]["accepted"] = 101;
  write_json(file, baseline);
  EXPECT_EQ(run_vernier(command).exit_code, 1);
}

TEST(Baseline, is_needed_to_be_updated) {
  const CompletedProcess outcome =
      run_vernier({"eval", "-m", fixture("mnist/mnist_cnn.int8.onnx"), "--reference",
                   fixture("mnist/mnist_cnn.onnx"), "--update-baseline"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--baseline"));
}

}  // namespace
}  // namespace vernier
