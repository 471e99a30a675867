// Candidate and reference are given in the same way to every command.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run.h"
#include "tests/fixture.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using testing::run_vernier;

const std::string quantized = mnist + "mnist_cnn.int8.onnx";
const std::string original = mnist + "mnist_cnn.float.onnx";

// Every spelling gives the same bytes.
void expect_same(const std::vector<std::string>& common,
                 const std::vector<std::vector<std::string>>& spellings) {
  std::string first;
  for (std::vector<std::string> arguments : spellings) {
    arguments.insert(arguments.begin(), common[0]);
    arguments.insert(arguments.end(), common.begin() + 1, common.end());
    const CompletedProcess outcome = run_vernier(arguments);
    EXPECT_NE(outcome.exit_code, 2) << outcome.err;
    EXPECT_NE(outcome.out, "");
    if (first.empty()) first = outcome.out;
    EXPECT_EQ(outcome.out, first);
  }
}

TEST(Models, by_position_by_name_and_by_the_old_names_are_the_same) {
  const std::vector<std::string> samples = {"--input-data", mnist_inputs, "--samples", "2",
                                            "-f",           "json"};
  for (const std::string command : {"eval", "debug", "layers", "check"}) {
    std::vector<std::string> common = {command};
    common.insert(common.end(), samples.begin(), samples.end());
    std::vector<std::vector<std::string>> spellings = {
        {quantized, "--reference", original},
        {"--reference", original, quantized},
        {"-m", quantized, "--reference", original},
        {"--model", quantized, "--reference", original},
        {"--candidate", quantized, "--reference", original}};
    if (command == "debug")
      spellings.push_back({"--float-model", original, "--quant-model", quantized});
    expect_same(common, spellings);
  }
}

TEST(Models, diff_takes_files_by_position_and_by_name) {
  const std::string other = mnist + "mnist_labelled.npz";
  expect_same({"diff", "--allow-missing", "-f", "json"},
              {{mnist_inputs, other},
               {"--reference", mnist_inputs, "--candidate", other},
               {other, "--reference", mnist_inputs},
               {"--reference", mnist_inputs, other},
               {mnist_inputs, "-m", other}});
  expect_error(run_vernier({"diff", mnist_inputs}), "expected two files");
  expect_error(run_vernier({"diff", mnist_inputs, mnist_inputs, "-m", mnist_inputs}),
               "expected two files");
}

TEST(Models, a_model_that_is_missing_or_given_twice_is_a_usage_error) {
  for (const char* command : {"eval", "debug", "layers"})
    expect_error(run_vernier({command}), "see 'vernier " + std::string(command) + " --help'");
  expect_error(run_vernier({"eval", quantized, original, "more"}), "'more'");
}

TEST(Models, debug_needs_an_onnx_reference) {
  expect_error(run_vernier({"debug", quantized, "--reference", mnist + "mnist_cnn.pt"}),
               "the reference must be the .onnx model that was quantized");
}

TEST(Models, all_samples_of_a_file_can_be_asked_for) {
  const CompletedProcess outcome =
      run_vernier({"eval", quantized, "--reference", original, "--input-data", mnist_inputs,
                   "--samples", "all", "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, run_vernier({"eval", quantized, "--reference", original, "--input-data",
                                      mnist_inputs, "-f", "json"})
                             .out);
  expect_error(run_vernier({"eval", quantized, "--reference", original, "--samples", "all"}),
               "random inputs have no end");
}

TEST(Models, what_onnx_runtime_warns_of_is_shown_on_request) {
  const std::vector<std::string> command = {"eval",   quantized,      "--reference",
                                            original, "--input-data", mnist_inputs};
  const CompletedProcess quiet = run_vernier(command);
  EXPECT_EQ(quiet.err, "");
  std::vector<std::string> verbose = command;
  verbose.push_back("--verbose");
  const CompletedProcess loud = run_vernier(verbose);
  EXPECT_EQ(loud.exit_code, quiet.exit_code);
  EXPECT_EQ(loud.out, quiet.out);
}

}  // namespace
}  // namespace vernier
