#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/oracle/numpy.h"
#include "tests/temporary_directory.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using testing::expect_valid_json;
using ::testing::HasSubstr;
using testing::run_vernier;

CompletedProcess compare(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"eval", "--mode", "compare"});
  return run_vernier(arguments);
}

TEST(EvalCompare, an_export_agrees_with_its_torchscript) {
  if (torch_version().empty()) GTEST_SKIP() << "built without libtorch";
  for (const char* name : {"mnist_cnn", "mnist_vit"}) {
    const CompletedProcess outcome = compare(
        {"-m", mnist + name + ".onnx", "--reference", mnist + name + ".pt", "--samples", "5"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("PASS"));
  }
}

// The int8 model against the float one: integer arithmetic gives the same bytes everywhere.
const std::vector<std::string> int8_run = {
    "-m",           mnist + "mnist_cnn.int8.onnx", "--reference", mnist + "mnist_cnn.onnx",
    "--input-data", mnist + "mnist_inputs.npz",    "--samples",   "8",
    "--task",       "image-classification"};

CompletedProcess compare_int8(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = int8_run;
  arguments.insert(arguments.end(), more.begin(), more.end());
  return compare(arguments);
}

TEST(EvalCompare, json_keeps_its_schema_and_has_twenty_keys_an_output_and_more) {
  const CompletedProcess outcome = compare_int8({"-f", "json"});
  expect_valid_json("compare", outcome.out);
  for (const char* metric : {"sqnr_db", "psnr_db", "cosine_similarity", "mse", "max_abs_diff"})
    for (const char* statistic : {"_mean", "_std", "_min", "_max"})
      EXPECT_THAT(outcome.out, HasSubstr(std::string("\"") + metric + statistic + "\": "));
}

TEST(EvalCompare, the_same_run_gives_the_same_bytes) {
  EXPECT_EQ(compare_int8({"-f", "json"}).out, compare_int8({"-f", "json"}).out);
}

TEST(EvalCompare, default_limits_depend_on_the_precision_found) {
  EXPECT_THAT(compare_int8({}).out, HasSubstr("sqnr_db_mean<15"));
  EXPECT_EQ(compare_int8({}).exit_code, 0);
  EXPECT_EQ(compare_int8({"--fail-if", "sqnr_db<40"}).exit_code, 1);
}

TEST(EvalCompare, stages_show_each_optimisation_level) {
  const CompletedProcess outcome = compare_int8({"--stages", "-f", "json"});
  expect_valid_json("compare", outcome.out);
  for (const char* stage : {"exact", "off", "basic", "extended", "all"})
    EXPECT_THAT(outcome.out, HasSubstr(std::string("\"stage\": \"") + stage));
}

TEST(EvalCompare, the_worst_sample_can_be_run_alone) {
  const CompletedProcess alone =
      compare({"-m", mnist + "mnist_cnn.int8.onnx", "--reference", mnist + "mnist_cnn.onnx",
               "--sample-index", "3", "-f", "json"});
  EXPECT_THAT(alone.out, HasSubstr("\"sqnr_db\": 3"));
  EXPECT_THAT(alone.out, HasSubstr("\"samples\": 1"));
}

TEST(EvalCompare, a_float_model_is_converted_to_the_precision_asked_for) {
  const CompletedProcess outcome =
      compare({"-m", mnist + "mnist_cnn.onnx", "--reference", mnist + "mnist_cnn.onnx",
               "--precision", "fp16", "--samples", "2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("(fp16)"));
}

TEST(EvalCompare, recorded_tensors_are_a_reference) {
  const TemporaryDirectory folder;
  const std::string recorded = (folder / "r.npz").string();
  ASSERT_EQ(
      run_vernier({"record", mnist + "mnist_cnn.onnx", "--samples", "3", "-o", recorded}).exit_code,
      0);
  const CompletedProcess outcome =
      compare({"-m", mnist + "mnist_cnn.onnx", "--reference", recorded, "--samples", "3"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("inf"));
}

TEST(EvalCompare, inputs_in_a_recording_are_no_outputs_that_are_missing) {
  const TemporaryDirectory folder;
  const std::string recorded = (folder / "both.npz").string();
  ASSERT_EQ(run_vernier({"record", mnist + "mnist_cnn.onnx", "--samples", "3", "--tensors",
                         "inputs,outputs", "-o", recorded})
                .exit_code,
            0);
  const CompletedProcess outcome =
      compare({"-m", mnist + "mnist_cnn.onnx", "--reference", recorded, "--samples", "3"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST(EvalCompare, one_sample_has_the_figures_that_numpy_gives) {
  const TemporaryDirectory folder;
  const std::string result = folder / "result.json", reference = folder / "r.npz",
                    candidate = folder / "c.npz";
  const auto record = [&](const std::string& model, const std::string& out) {
    return run_vernier({"record", mnist + model, "-o", out, "--sample-index", "3"}).exit_code;
  };
  ASSERT_EQ(record("mnist_cnn.onnx", reference), 0);
  ASSERT_EQ(record("mnist_cnn.int8.onnx", candidate), 0);
  ASSERT_EQ(compare({"-m", mnist + "mnist_cnn.int8.onnx", "--reference", mnist + "mnist_cnn.onnx",
                     "--sample-index", "3", "--inputs", "uniform", "--fail-if", "sqnr_db<0", "-o",
                     result})
                .exit_code,
            0);
  const auto python = oracle::python_with("numpy");
  ASSERT_TRUE(python);
  const CompletedProcess checked = testing::run_program(
      {*python, VERNIER_ORACLES "/compare_recorded.py", result, reference, candidate});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
}

TEST(EvalCompare, composite_models_are_refused_with_what_to_run) {
  const CompletedProcess outcome =
      compare({"-m", "encoder=a.onnx", "-m", "decoder=b.onnx", "--reference", "r.pt"});
  expect_error(outcome, "encoder=a.onnx, decoder=b.onnx");
  EXPECT_THAT(outcome.err, HasSubstr("-m a.onnx, then -m b.onnx"));
  expect_error(compare({"-m", mnist, "--reference", "r.pt"}), "composite");
}

TEST(EvalCompare, inputs_that_were_made_up_stay_that_when_they_are_saved) {
  const TemporaryDirectory folder;
  const std::string saved = folder / "inputs.npz";
  const auto is_real = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"-m",          mnist + "mnist_cnn.int8.onnx",
                                          "--reference", mnist + "mnist_cnn.onnx",
                                          "--samples",   "4",
                                          "-f",          "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = nlohmann::json::parse(compare(arguments).out);
    return result["evidence"]["real_inputs"].get<bool>();
  };
  EXPECT_FALSE(is_real({"--save-inputs", saved}));
  EXPECT_FALSE(is_real({"--input-data", saved}));
  const std::string real = folder / "real.npz";
  EXPECT_TRUE(is_real({"--input-data", mnist + "mnist_inputs.npz", "--save-inputs", real}));
  EXPECT_TRUE(is_real({"--input-data", real}));
}

TEST(EvalCompare, another_network_fails_by_its_weights) {
  const CompletedProcess outcome =
      compare({"-m", mnist + "mnist_cnn.onnx", "--reference", mnist + "mnist_vit.onnx"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("the reference has no weight like it"));
}

TEST(EvalCompare, what_cannot_be_run_is_a_one_line_error) {
  const std::string model = mnist + "mnist_cnn.onnx";
  expect_error(compare({"-m", model}), "--reference");
  expect_error(compare({"-m", mnist + "mnist_cnn.pt", "--reference", model}),
               "pass it, as in --shape");
  expect_error(compare({"-m", model, "--reference", "nowhere.pt"}), "nowhere.pt");
  expect_error(compare({"-m", model, "--reference", model, "--precision", "int8"}),
               "cannot be made int8");
  for (const char* precision : {"fp16", "fp32"})
    expect_error(compare({"-m", mnist + "mnist_cnn.int8.onnx", "--reference", model, "--precision",
                          precision}),
                 "is int8: it cannot be made");
  expect_error(compare({"-m", model, "--reference", model, "--fail-if", "typo>1"}), "typo");
  expect_error(compare({"-m", model, "--reference", model, "--samples", "0"}), "samples");
}

}  // namespace
}  // namespace vernier
