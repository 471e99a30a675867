#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/run.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using nlohmann::json;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::run_vernier;

const std::string mnist = VERNIER_FIXTURES "/mnist/";

class Tune : public ::testing::Test {
 protected:
  Outcome tune(const std::string& target, std::vector<std::string> more = {},
               const std::string& model = "mnist_cnn.onnx") {
    std::vector<std::string> arguments = {"tune", mnist + model, "--target", target, "-o",
                                          out,    "--fast",      "-f",       "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  }

  TemporaryDirectory folder;
  std::string out = folder / "m.onnx";
  const std::vector<std::string> data = {"--data", mnist + "mnist_inputs.npz"};
};

TEST_F(Tune, keeps_as_few_nodes_in_float_as_the_target_takes) {
  const Outcome easy = tune("sqnr_db>10", data), hard = tune("sqnr_db>32", data);
  ASSERT_EQ(easy.exit_code, 0) << easy.err;
  ASSERT_EQ(hard.exit_code, 0) << hard.err;
  EXPECT_EQ(json::parse(easy.out)["kept"].size(), 0U);
  const json result = json::parse(hard.out);
  EXPECT_GT(result["kept"].size(), 0U);
  EXPECT_LT(result["kept"].size(), 10U);
  EXPECT_GT(result["value"], 32);
  EXPECT_FALSE(result["curve"].empty());
  // The model that was written has them in float, and is that good.
  const Outcome compared =
      run_vernier({"eval", out, "--reference", folder / "m.float.onnx", "--input-data",
                   mnist + "mnist_inputs.npz", "--exact", "--fail-if", "sqnr_db_mean<31"});
  EXPECT_EQ(compared.exit_code, 0) << compared.out << compared.err;
}

TEST_F(Tune, a_target_out_of_reach_fails_with_the_best_there_is) {
  auto more = data;  // in float anything would be reached
  more.insert(more.end(), {"--fallback", "16"});
  const Outcome outcome = tune("sqnr_db>500", more);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_FALSE(result["reached"]);
  EXPECT_TRUE(std::filesystem::exists(out));
}

TEST_F(Tune, sixteen_bits_may_be_what_nodes_fall_back_to) {
  auto more = data;
  more.insert(more.end(), {"--fallback", "16"});
  const Outcome outcome = tune("sqnr_db>28", more);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST_F(Tune, a_target_that_is_no_metric_is_refused) {
  for (const char* target : {"beauty>3", "sqnr_db", "sqnr_db>much"})
    expect_error(tune(target, data), "expected METRIC>VALUE");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Tune, accuracy_without_labels_is_refused) {
  expect_error(tune("top1_accuracy_drop<0.5", data), "labelled --dataset");
}

TEST_F(Tune, without_data_or_with_too_little_nothing_is_written) {
  expect_error(tune("sqnr_db>30"), "give --data or --dataset");
  auto few = data;
  few.insert(few.end(), {"--samples", "2"});
  expect_error(tune("sqnr_db>30", few), "2 samples are too few");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Tune, a_quantized_model_says_so) {
  expect_error(tune("sqnr_db>30", data, "mnist_cnn.int8.onnx"), "quantized already");
}

}  // namespace
}  // namespace vernier
