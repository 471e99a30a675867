#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using testing::expect_golden;
using testing::expect_valid_json;
using testing::run_vernier;

nlohmann::json inspect_json(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "inspect");
  arguments.insert(arguments.end(), {"-f", "json"});
  const CompletedProcess outcome = run_vernier(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_valid_json("inspect", outcome.out);
  return nlohmann::json::parse(outcome.out);
}

TEST(InspectCommand, a_quantized_model_is_shown_as_text_and_json) {
  const std::string model = mnist + "mnist_cnn.int8.onnx";
  const CompletedProcess text = run_vernier({"inspect", model});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  expect_golden("inspect_int8.txt", text.out);
  const CompletedProcess json = run_vernier({"inspect", model, "-f", "json"});
  expect_golden("inspect_int8.json", json.out);
  expect_valid_json("inspect", json.out);
}

TEST(InspectCommand, every_tensor_is_listed_after_one_run) {
  const auto json = inspect_json({mnist + "mnist_cnn.onnx", "--tensors"});
  EXPECT_EQ(json["live"]["inputs"], "random uniform, seed 42");
  EXPECT_EQ(json["live"]["tensors"].size(), 22u);
  EXPECT_TRUE(json["live"]["first_nan"].is_null());
  EXPECT_TRUE(json["versions"].contains("onnxruntime"));
}

TEST(InspectCommand, the_sample_can_be_chosen) {
  const auto json = inspect_json({mnist + "mnist_cnn.onnx", "--tensors", "--input-data",
                                  mnist + "mnist_inputs.npz", "--sample-index", "7"});
  EXPECT_EQ(json["live"]["sample"], 7);
  EXPECT_EQ(json["live"]["inputs"], "mnist_inputs.npz");
}

TEST(InspectCommand, nan_is_traced_to_the_operator_that_made_it) {
  const TemporaryDirectory folder;
  const std::string path = folder / "log.onnx";
  GraphBuilder()
      .input("x", DType::f32, {{2, ""}})
      .node("Neg", {"x"}, {"minus"})
      .node("Log", {"minus"}, {"log"})
      .node("Abs", {"log"}, {"y"})
      .output("y", DType::f32, {{2, ""}})
      .model()
      .save(path);
  EXPECT_EQ(inspect_json({path, "--tensors"})["live"]["first_nan"],
            (nlohmann::json{{"tensor", "log"}, {"operator", "Log"}}));
  const CompletedProcess text = run_vernier({"inspect", path, "--tensors"});
  EXPECT_NE(text.out.find("first NaN in 'log', written by Log"), std::string::npos) << text.out;
}

TEST(InspectCommand, recordings_are_shown_too) {
  const TemporaryDirectory folder;
  const std::string path = write_npz(folder / "r.npz", {ramp("a", {3, 2}), ramp("b", {3, 1, 4})});
  const auto json = inspect_json({path, "--tensors", "--sample-index", "2"});
  EXPECT_EQ(json["samples"], 3);
  EXPECT_EQ(json["live"]["tensors"][0]["min"], 4);
  EXPECT_EQ(json["live"]["tensors"][1]["shape"], (nlohmann::json{1, 4}));
}

TEST(InspectCommand, a_torchscript_model_shows_leaves) {
  if (torch_version().empty()) GTEST_SKIP() << "this build has no libtorch";
  const std::string model = mnist + "mnist_cnn.pt";
  const auto json = inspect_json({model, "--tensors", "--shape", "1x1x28x28"});
  EXPECT_EQ(json["leaves"][0]["path"], "stem");
  EXPECT_EQ(json["live"]["tensors"][1]["name"], "stem");
  expect_error(run_vernier({"inspect", model, "--tensors"}), "the model does not say its shape");
}

TEST(InspectCommand, what_cannot_be_read_is_an_error) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "broken.onnx") << "no model";
  expect_error(run_vernier({"inspect", folder / "broken.onnx"}), "broken.onnx");
  expect_error(run_vernier({"inspect", folder / "none.onnx"}), "no such file or folder");
  expect_error(
      run_vernier({"inspect", mnist + "mnist_inputs.npz", "--tensors", "--sample-index", "64"}),
      "holds 64 samples, number 64 was asked for");
}

}  // namespace
}  // namespace vernier
