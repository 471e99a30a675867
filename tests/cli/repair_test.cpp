#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using nlohmann::json;
using testing::CompletedProcess;
using testing::expect_error;
using testing::expect_valid_json;
using ::testing::HasSubstr;
using testing::run_vernier;

class Repair : public ::testing::Test {
 protected:
  CompletedProcess repair(const std::string& model, const std::string& reference,
                          std::vector<std::string> more) {
    std::vector<std::string> arguments = {"repair", model, "--reference", reference,
                                          "-o",     out,   "-f",          "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  }

  TemporaryDirectory folder;
  std::string out = folder / "better.onnx";
  const std::vector<std::string> data = {"--data", mnist + "mnist_inputs.npz"};
};

TEST_F(Repair, a_gain_is_proven_and_the_graph_stays) {
  const CompletedProcess outcome =
      repair(mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx", data);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["written"], "better.onnx");
  expect_valid_json("repair", outcome.out);
  EXPECT_EQ(result["verdict"]["outcome"], "pass");
  const json& held = result["held_back"];
  EXPECT_GT(held["gain_db_interval"][0], 0);
  EXPECT_GT(held["repaired_sqnr_db"], held["shipped_sqnr_db"]);
  const json before = json::parse(
                 run_vernier({"inspect", mnist + "mnist_cnn.int8.onnx", "-f", "json"}).out),
             after = json::parse(run_vernier({"inspect", out, "-f", "json"}).out);
  EXPECT_EQ(before["onnx"]["operators"], after["onnx"]["operators"]);
}

TEST_F(Repair, the_output_as_deployed_is_shown_and_the_target_is_asked_for) {
  auto arguments = data;
  arguments.insert(arguments.end(), {"--target-cpu", "vnni"});
  const CompletedProcess outcome =
      repair(mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx", arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["run"]["target_cpu"], "vnni");
  EXPECT_EQ(result["unsigned_weights"], 0);
  EXPECT_TRUE(result["held_back"]["shipped_deployed_sqnr_db"].is_number());
  arguments.back() = "arm";
  expect_error(repair(mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx", arguments),
               "--target-cpu");
}

TEST_F(Repair, nothing_is_written_unless_something_is_gained) {
  const std::string made = folder / "made.onnx";
  ASSERT_EQ(run_vernier({"quantize", mnist + "mnist_cnn.onnx", "-o", made, "--data",
                         mnist + "mnist_inputs.npz"})
                .exit_code,
            0);
  const CompletedProcess outcome = repair(made, folder / "made.float.onnx", data);
  ASSERT_LE(outcome.exit_code, 1) << outcome.err;
  const json result = json::parse(outcome.out);
  const bool gained = result["held_back"]["gain_db_interval"][0] > 0;
  EXPECT_EQ(outcome.exit_code, gained ? 0 : 1);
  expect_valid_json("repair", outcome.out);
  EXPECT_EQ(result["pass"], gained);
  EXPECT_EQ(result["verdict"]["failures"].empty(), gained);
  EXPECT_EQ(!result["written"].is_null(), gained);
  EXPECT_EQ(std::filesystem::exists(out), gained);
}

TEST_F(Repair, the_last_line_is_the_verdict) {
  const auto last_line = [&](const std::string& model) {
    const std::string text = run_vernier({"repair", model, "--reference", mnist + "mnist_cnn.onnx",
                                          "--data", mnist + "mnist_inputs.npz", "-o", out})
                                 .out;
    return text.substr(text.rfind("\n\n") + 2);
  };
  EXPECT_EQ(last_line(mnist + "mnist_cnn.int8.onnx"), "PASS\n");
  // What was repaired once can hardly be repaired again.
  const std::string again = last_line(std::exchange(out, folder / "again.onnx"));
  if (!std::filesystem::exists(out))
    EXPECT_THAT(again, ::testing::StartsWith("FAIL: no gain is proven: "));
  else
    EXPECT_EQ(again, "PASS\n");
}

TEST_F(Repair, a_float_model_and_a_quantized_reference_are_refused) {
  expect_error(repair(mnist + "mnist_cnn.onnx", mnist + "mnist_cnn.onnx", data), "no Q-DQ pairs");
  expect_error(repair(mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.int8.onnx", data),
               "is quantized; give the float model");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Repair, without_data_or_with_too_little_nothing_is_written) {
  expect_error(repair(mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx", {}),
               "pass --data or --dataset");
  auto few = data;
  few.insert(few.end(), {"--samples", "2"});
  expect_error(repair(mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx", few),
               "2 samples are too few");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Repair, few_samples_are_warned_of) {
  auto few = data;
  few.insert(few.end(), {"--samples", "12"});
  const CompletedProcess outcome =
      repair(mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx", few);
  ASSERT_LE(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(json::parse(outcome.out)["warnings"].dump(), HasSubstr("few samples (12)"));
}

}  // namespace
}  // namespace vernier
