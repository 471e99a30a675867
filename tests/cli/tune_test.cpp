#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vernier_onnx.pb.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/temporary_directory.h"
#include "vernier/model/index.h"

namespace vernier {
namespace {

using nlohmann::json;
using testing::CompletedProcess;
using testing::expect_error;
using testing::expect_valid_json;
using ::testing::HasSubstr;
using testing::run_vernier;

class Tune : public ::testing::Test {
 protected:
  CompletedProcess tune(const std::string& target, std::vector<std::string> more = {},
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
  const CompletedProcess easy = tune("sqnr_db>10", data), hard = tune("sqnr_db>32", data);
  ASSERT_EQ(easy.exit_code, 0) << easy.err;
  ASSERT_EQ(hard.exit_code, 0) << hard.err;
  EXPECT_EQ(json::parse(easy.out)["kept"].size(), 0U);
  expect_valid_json("tune", hard.out);
  EXPECT_EQ(json::parse(easy.out)["verdict"]["limits"], json::array({"sqnr_db<=10"}));
  EXPECT_EQ(json::parse(easy.out)["pass"], true);
  const json result = json::parse(hard.out);
  EXPECT_GT(result["kept"].size(), 0U);
  EXPECT_LT(result["kept"].size(), 10U);
  EXPECT_GT(result["value"], 32);
  EXPECT_FALSE(result["curve"].empty());
  // The model that was written has them in float, and is that good.
  const CompletedProcess compared =
      run_vernier({"eval", out, "--reference", folder / "m.float.onnx", "--input-data",
                   mnist + "mnist_inputs.npz", "--exact", "--fail-if", "sqnr_db_mean<31"});
  EXPECT_EQ(compared.exit_code, 0) << compared.out << compared.err;
}

TEST_F(Tune, a_target_out_of_reach_fails_with_the_best_there_is) {
  auto more = data;  // in float anything would be reached
  more.insert(more.end(), {"--fallback", "16"});
  const CompletedProcess outcome = tune("sqnr_db>500", more);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  expect_valid_json("tune", outcome.out);
  const json result = json::parse(outcome.out);
  EXPECT_FALSE(result["reached"]);
  EXPECT_EQ(result["pass"], false);
  EXPECT_EQ(result["verdict"]["outcome"], "fail");
  const json& failure = result["verdict"]["failures"][0];
  EXPECT_EQ(failure["limit"], "sqnr_db<=500");
  EXPECT_EQ(failure["value"], result["value"]);
  EXPECT_TRUE(std::filesystem::exists(out));
}

TEST_F(Tune, the_last_line_is_the_verdict) {
  const auto last_line = [&](const std::string& target) {
    const std::string text =
        run_vernier({"tune", mnist + "mnist_cnn.onnx", "--target", target, "--fallback", "16",
                     "--fast", "--data", mnist + "mnist_inputs.npz", "-o", out})
            .out;
    return text.substr(text.rfind("\n\n") + 2);
  };
  EXPECT_EQ(last_line("sqnr_db>10"), "PASS\n");
  EXPECT_THAT(last_line("sqnr_db>500"),
              ::testing::MatchesRegex("FAIL: output .+: sqnr_db .+ <= 500\n"));
}

TEST_F(Tune, sixteen_bits_may_be_what_nodes_fall_back_to) {
  auto more = data;
  more.insert(more.end(), {"--fallback", "16"});
  const CompletedProcess outcome = tune("sqnr_db>28", more);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST_F(Tune, one_that_is_killed_goes_on_to_the_same_bytes) {
  const std::string target = "sqnr_db>32";
  const std::string expected = tune(target, data).out, model = testing::read_text(out);
  const std::string checkpoint = folder / "checkpoint";
  auto more = data;
  more.insert(more.end(), {"--checkpoint", checkpoint});
  std::vector<std::string> command = {
      "timeout",  "-s",   "KILL", "",  VERNIER_BINARY, "tune", mnist + "mnist_cnn.onnx",
      "--target", target, "-o",   out, "--fast",       "-f",   "json"};
  command.insert(command.end(), more.begin(), more.end());
  std::mt19937 random(5);
  for (int kill = 0; kill < 5; ++kill) {
    command[3] = "0." + std::to_string(200 + random() % 800);
    testing::run_program(command);
  }
  const CompletedProcess resumed = tune(target, more);
  EXPECT_EQ(resumed.out, expected) << resumed.err;
  EXPECT_EQ(testing::read_text(out), model);
  const CompletedProcess again = tune(target, more);
  EXPECT_THAT(again.err, HasSubstr("[checkpoint] goes on from"));
  EXPECT_EQ(again.out, expected);
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

TEST_F(Tune, a_quantized_model_asks_for_the_float_one) {
  expect_error(tune("sqnr_db>30", data, "mnist_cnn.int8.onnx"),
               "quantized already; give --reference");
}

CompletedProcess tune_shipped(const std::string& model, const std::string& reference,
                              const std::string& target, const std::string& out,
                              std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"tune",        mnist + model,
                                        "--reference", mnist + reference,
                                        "--data",      mnist + "mnist_inputs.npz",
                                        "--target",    target,
                                        "-o",          out,
                                        "-f",          "json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_vernier(arguments);
}

TEST_F(Tune, of_a_quantized_model_the_fewest_nodes_are_put_back_into_float) {
  const CompletedProcess easy =
      tune_shipped("mnist_cnn.int8.onnx", "mnist_cnn.float.onnx", "sqnr_db>15", out);
  ASSERT_EQ(easy.exit_code, 0) << easy.err;
  EXPECT_TRUE(json::parse(easy.out)["kept"].empty());
  for (const char* cost : {"nodes", "bytes", "latency"}) {
    const CompletedProcess hard = tune_shipped("mnist_cnn.int8.onnx", "mnist_cnn.float.onnx",
                                               "sqnr_db>33", out, {"--cost", cost});
    ASSERT_EQ(hard.exit_code, 0) << hard.err;
    const json result = json::parse(hard.out);
    EXPECT_GT(result["kept"].size(), 0U);
    EXPECT_LT(result["kept"].size(), 12U);
    EXPECT_GT(result["value"], 33);
  }
  // What eval measures of the file is what was promised.
  const CompletedProcess compared =
      run_vernier({"eval", out, "--reference", mnist + "mnist_cnn.float.onnx", "--input-data",
                   mnist + "mnist_inputs.npz", "--exact", "--fail-if", "sqnr_db_mean<32"});
  EXPECT_EQ(compared.exit_code, 0) << compared.out << compared.err;
}

TEST_F(Tune, all_nodes_of_a_quantized_model_in_float_are_the_float_model) {
  const CompletedProcess all =
      tune_shipped("mnist_vit.int8.onnx", "mnist_vit.float.onnx", "sqnr_db>500", out);
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(json::parse(all.out)["value"], "inf");  // not a bit is another
}

TEST_F(Tune, what_cannot_be_tuned_with_a_reference_is_refused) {
  expect_error(tune_shipped("mnist_cnn.onnx", "mnist_cnn.onnx", "sqnr_db>30", out),
               "has no Q-DQ pairs");
  expect_error(tune_shipped("mnist_cnn.int8.onnx", "mnist_cnn.int8.onnx", "sqnr_db>30", out),
               "is quantized; give the float model");
  EXPECT_EQ(
      tune_shipped("mnist_cnn.int8.onnx", "mnist_cnn.float.onnx", "sqnr_db>30", out, {"--fast"})
          .exit_code,
      2);
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Tune, nodes_that_somebody_chose_are_kept_without_a_search) {
  const std::string quantized = mnist + "mnist_cnn.int8.onnx";
  const std::string reference = mnist + "mnist_cnn.float.onnx";
  expect_error(
      run_vernier({"tune", quantized, "--reference", reference, "--keep", "/nowhere", "-o", out}),
      "mnist_cnn.int8.onnx has no Q-DQ pair of constant scale at a node or input of that name");
  expect_error(run_vernier({"tune", quantized, "--keep", "/stem/Conv", "-o", out}),
               "is of a model that is quantized already; give --reference");
  expect_error(
      run_vernier({"tune", quantized, "--reference", quantized, "--keep", "/stem/Conv", "-o", out}),
      "is quantized; give the float model");
  const std::string other = mnist + "mnist_vit.float.onnx";  // has none of these weights
  expect_error(
      run_vernier({"tune", quantized, "--reference", other, "--keep", "/stem/Conv", "-o", out}),
      "--keep '/stem/Conv': its float weight is not in ");
  expect_error(run_vernier({"tune", quantized, "--reference", reference, "--keep", "/stem/Conv",
                            "--data", mnist + "mnist_inputs.npz", "-o", out}),
               "--keep");
  expect_error(run_vernier({"tune", quantized, "--reference", reference, "-o", out}),
               "--target: what is to be reached?");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Tune, what_is_read_is_not_written_over) {
  const std::string copy = folder / "copy.onnx", quantized = folder / "q.onnx";
  std::filesystem::copy(mnist + "mnist_cnn.onnx", copy);
  std::filesystem::copy(mnist + "mnist_cnn.int8.onnx", quantized);
  const std::string before = testing::read_text(copy);
  const std::string said = "would replace what ";
  const std::string input = mnist + "mnist_inputs.npz";
  expect_error(run_vernier({"tune", copy, "--target", "sqnr_db>1", "--data", input, "-o", copy}),
               said);
  expect_error(run_vernier({"quantize", copy, "--data", input, "-o", copy}), said);
  expect_error(run_vernier({"convert", copy, "--precision", "fp16", "-o", copy}), said);
  expect_error(run_vernier({"repair", quantized, "--reference", copy, "--data", input, "-o", copy}),
               said);
  std::filesystem::rename(copy, folder / "m.float.onnx");  // what quantize writes beside m.onnx
  expect_error(run_vernier({"quantize", folder / "m.float.onnx", "--data", input, "-o", out}),
               said);
  EXPECT_EQ(testing::read_text(folder / "m.float.onnx"), before);
}

TEST_F(Tune, a_report_is_no_model) {
  out = folder / "m.html";
  expect_error(tune("sqnr_db>1", data), "is where a model is written; the report goes to --report");
}

TEST_F(Tune, a_target_that_asks_for_less_is_refused) {
  expect_error(tune("sqnr_db<30", data), "sqnr_db is better the larger it is; pass 'sqnr_db>30'");
  expect_error(tune("kl_mean>1", data), "kl_mean is better the smaller it is; pass 'kl_mean<1'");
  expect_error(tune("agreement>99", data), "agreement is a share of 1");
}

// What the search of --tune leaves in float counts like what is kept after it.
TEST_F(Tune, all_nodes_in_float_are_listed) {
  const CompletedProcess outcome =
      run_vernier({"tune", mnist + "mnist_vit.onnx", "--tune", "--target", "sqnr_db>33", "--data",
                   mnist + "mnist_inputs.npz", "-o", out, "-f", "json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json kept = json::parse(outcome.out)["kept"];
  const Model model = Model::load(out);
  const ModelIndex index(model);
  std::size_t in_float = 0;
  for (const auto& node : model.graph().node())
    for (const char* op : {"Conv", "Gemm", "MatMul"})
      if (is_op(node, op))
        if (const auto* weight = index.main().producer(node.input(1));
            !weight || !is_op(*weight, "DequantizeLinear"))
          ++in_float;
  EXPECT_EQ(kept.size(), in_float);
}

}  // namespace
}  // namespace vernier
