#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_program;
using testing::run_vernier;

const std::vector<std::string> usage_pair = {mnist_int8, "--reference", mnist_cnn};

CompletedProcess run_pair(const std::string& command, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {command};
  arguments.insert(arguments.end(), usage_pair.begin(), usage_pair.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_vernier(arguments);
}

TEST(Usage, an_option_that_is_given_twice_is_named) {
  expect_error(run_pair("eval", {"--reference", mnist_cnn}), "--reference is given twice");
  expect_error(run_pair("eval", {"--seed", "1", "--seed", "2"}), "--seed is given twice");
  expect_error(run_pair("eval", {"-m", mnist_int8}), "the model is given twice");
}

TEST(Usage, a_value_that_is_no_choice_gets_the_nearest) {
  expect_error(run_pair("eval", {"-f", "JSON"}), "expected one of text, json");
  EXPECT_THAT(run_pair("eval", {"-f", "JSON"}).err, HasSubstr("found 'JSON'; did you mean json?"));
  expect_error(run_vernier({"completion", "tcsh"}),
               "expected one of bash, zsh, fish; found 'tcsh'");
}

TEST(Usage, no_command_is_told_what_one_is) {
  expect_error(run_vernier({}), "a command is required, as in 'vernier diagnose'");
}

TEST(Usage, a_short_option_is_no_misspelt_long_one) {
  for (const char* option : {"-v", "-V", "--bad"}) {
    const CompletedProcess outcome = run_vernier({"score", "knn", option});
    expect_error(outcome, std::string("unknown option ") + option);
    EXPECT_THAT(outcome.err, Not(HasSubstr("did you mean -")));
  }
}

TEST(Usage, help_all_is_of_every_task_of_score) {
  EXPECT_EQ(run_vernier({"score", "knn", "--help-all"}).exit_code, 0);
}

TEST(Usage, a_metric_that_is_none_gets_the_nearest_or_the_base_names) {
  expect_error(run_pair("eval", {"--fail-if", "sqnrdb<30"}), "did you mean sqnr_db?");
  const CompletedProcess other = run_pair("eval", {"--fail-if", "typo<30"});
  expect_error(other, "and each with _mean, _std, _min or _max");
  EXPECT_THAT(other.err, Not(HasSubstr("psnr_db_mean")));
  expect_error(run_pair("debug", {"--fail-if", "sqnr_db<30"}), "local, cumulative, weight");
  EXPECT_THAT(run_pair("debug", {"--fail-if", "sqnr_db<30"}).err, HasSubstr("as in 'local<30'"));
  const CompletedProcess tensor =
      run_pair("debug", {"--samples", "1", "--fail-if", "foo:cumulative<3"});
  expect_error(tensor, "no tensor 'foo' among ");
  EXPECT_THAT(tensor.err, HasSubstr(" more; fix the name"));
}

TEST(Usage, a_path_that_is_nowhere_is_said_so_in_the_same_words) {
  const std::string said = "no such file or folder";
  expect_error(run_vernier({"eval", "mnist_cnn", "--reference", mnist_cnn}), said);
  expect_error(run_vernier({"quantize", "none.onnx", "--synthetic", "-o", "/tmp/q.onnx"}), said);
  expect_error(run_vernier({"merge", "none.vpart"}), said);
  expect_error(run_vernier({"report", "none.json"}), said);
  expect_error(run_vernier({"diff", "none.npz", "none.npz"}), said);
  expect_error(run_vernier({"report", mnist_cnn}), "[report] " + mnist_cnn + ": no result");
}

TEST(Usage, a_provider_that_cannot_be_loaded_is_a_short_line) {
  const CompletedProcess outcome = run_pair("eval", {"--ep", "cuda"});
  if (outcome.exit_code == 2) {
    EXPECT_LE(outcome.err.size(), 200U) << outcome.err;
  }
}

TEST(Usage, a_reference_is_the_second_argument) {
  const std::string folder = std::filesystem::path(mnist_cnn).parent_path();
  for (const char* command : {"eval", "layers", "check"}) {
    const CompletedProcess outcome =
        run_vernier({command, mnist_int8, mnist_cnn, "--samples", "2", "-f", "json"});
    ASSERT_NE(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(nlohmann::json::parse(outcome.out)["run"]["reference"], "mnist_cnn.onnx");
  }
  EXPECT_THAT(run_vernier({"convert", "--help"}).out,
              HasSubstr("Usage: vernier convert MODEL --precision NAME -o OUT.onnx [options]"));
  EXPECT_THAT(run_vernier({"eval", "--help"}).out, HasSubstr("eval MODEL [REFERENCE] [options]"));
}

TEST(Usage, a_folder_with_a_model_is_a_reference) {
  const TemporaryDirectory folder;
  std::filesystem::copy(mnist_cnn, folder / "model.onnx");
  const CompletedProcess outcome =
      run_vernier({"eval", mnist_int8, folder.path(), "--samples", "2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST(Usage, a_full_disk_is_an_error_of_every_command) {
  for (const char* arguments : {"--help", "--version", "providers", "eval --help"}) {
    const CompletedProcess outcome = run_program(
        {"sh", "-c", std::string("\"$0\" ") + arguments + " > /dev/full", VERNIER_BINARY});
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_THAT(outcome.err, HasSubstr("could not write"));
  }
}

TEST(Usage, more_threads_than_cores_are_as_many_as_cores) {
  const CompletedProcess outcome = run_pair("eval", {"--samples", "2", "--threads", "100000"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST(Usage, options_that_a_conversion_would_ignore_are_refused) {
  const TemporaryDirectory folder;
  const std::string out = folder / "out.onnx";
  const auto convert = [&](const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"convert", model, "-o", out, "--precision"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  };
  expect_error(convert(mnist_int8, {"fp16"}), "is int8: it cannot be made fp16");
  expect_error(convert(mnist_cnn, {"fp16", "-f", "json"}), "--format: does not go with");
  expect_error(convert(mnist_cnn, {"fp16", "--fast"}), "--fast: does not go with");
  expect_error(convert(mnist_cnn, {"int8", "--io", "fp16"}), "--io: does not go with");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(Usage, numbers_that_mean_nothing_are_refused) {
  expect_error(run_pair("check", {"--tolerance", "-1"}), "expected a number of at least 0");
  expect_error(run_pair("debug", {"--low-db", "50", "--good-db", "10"}), "is above --good-db 10");
  expect_error(run_pair("layers", {"--ops"}), "the reference is no PyTorch model");
}

TEST(Usage, how_a_model_was_run_stands_in_the_result) {
  const auto settings = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"--samples", "2", "-f", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return nlohmann::json::parse(run_pair("eval", arguments).out)["run"].dump();
  };
  const std::string plain = settings({});
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--exact"}, {"--optimize", "off"}, {"--allow-missing"}})
    EXPECT_NE(settings(more), plain) << more.front();
}

// Two samples, the second of which holds a NaN.
std::string write_damaged(const std::filesystem::path& path) {
  Tensor input = ramp("input", {2, 1, 28, 28});
  elements<float>(input)[1000] = std::numeric_limits<float>::quiet_NaN();
  return write_npz(path, {input});
}

TEST(Usage, nan_in_an_input_is_named_and_nothing_else_is_blamed) {
  const TemporaryDirectory folder;
  const std::string data = write_damaged(folder / "nan.npz");
  const CompletedProcess diagnosis = run_pair("diagnose", {"--data", data});
  EXPECT_THAT(diagnosis.out, HasSubstr("cause: input 'input' holds NaN or infinity in sample 1"));
  EXPECT_THAT(diagnosis.out, HasSubstr("✗ inputs"));
  expect_error(run_pair("check", {"--input-data", data}), "input 'input' holds NaN in sample 1");
}

TEST(Usage, an_output_that_one_side_lacks_is_said_in_words) {
  const std::string out = run_vernier({"diagnose", mnist_int8, mnist + "mnist_vit.onnx"}).out;
  EXPECT_THAT(out, Not(HasSubstr("only_in_")));
  EXPECT_THAT(out, Not(HasSubstr("more agree")));
}

TEST(Usage, a_model_is_not_debugged_against_itself) {
  expect_error(run_vernier({"debug", mnist_int8, "--reference", mnist_int8}),
               "are the same model; pass the float one as the --reference");
}

}  // namespace
}  // namespace vernier
