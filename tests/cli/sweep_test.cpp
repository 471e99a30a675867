#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using nlohmann::json;
using testing::CompletedProcess;
using testing::expect_error;
using testing::run_vernier;

class Sweep : public ::testing::Test {
 protected:
  CompletedProcess sweep(const std::string& precisions, std::vector<std::string> more = {},
                         const std::string& model = "mnist_cnn.onnx") {
    std::vector<std::string> arguments = {"sweep", mnist + model, "--precisions", precisions,
                                          "-o",    out,           "--fast",       "--runs",
                                          "1",     "-f",          "json"};
    if (more.empty()) more = {"--data", mnist + "mnist_inputs.npz", "--samples", "16"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  }

  TemporaryDirectory folder;
  std::string out = folder / "sweep";
};

TEST_F(Sweep, every_precision_is_a_file_and_a_row_beside_the_float_model) {
  const CompletedProcess outcome = sweep("fp16,w8a8,w8");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json rows = json::parse(outcome.out)["configurations"];
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0]["precision"], "fp32");
  EXPECT_EQ(rows[0]["file"], "mnist_cnn.onnx");
  for (std::size_t i = 1; i < rows.size(); ++i) {
    ASSERT_FALSE(rows[i].contains("failure")) << rows[i];
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(out) / rows[i]["file"])) << rows[i];
    EXPECT_LT(rows[i]["bytes"], rows[0]["bytes"]);
    EXPECT_GT(rows[i]["sqnr_db"], 15);
    EXPECT_GT(rows[i]["latency_ratio"], 0);
    EXPECT_GT(rows[i]["peak_bytes"], 1 << 20);
    EXPECT_FALSE(rows[i]["was_there"]);
  }
  EXPECT_GT(rows[1]["sqnr_db"], rows[2]["sqnr_db"]);
  EXPECT_TRUE(rows[0]["best"]) << "nothing is closer to the float model than itself";
}

TEST_F(Sweep, one_that_was_stopped_goes_on_where_it_was) {
  ASSERT_EQ(sweep("fp16,w8").exit_code, 0);
  const std::filesystem::path files = out;
  // As a process that was killed leaves it: a model without its row, and one with half a row.
  std::filesystem::remove(files / "mnist_cnn.w8.onnx.json");
  json rows = json::parse(sweep("fp16,w8").out)["configurations"];
  EXPECT_TRUE(rows[1]["was_there"]);
  EXPECT_FALSE(rows[2]["was_there"]);
  std::ofstream(files / "mnist_cnn.fp16.onnx.json") << "{\"signature\": \"m";
  rows = json::parse(sweep("fp16,w8").out)["configurations"];
  EXPECT_FALSE(rows[1]["was_there"]);
  EXPECT_TRUE(rows[2]["was_there"]);
  // Other samples are another sweep.
  rows = json::parse(sweep("fp16,w8", {"--data", mnist + "mnist_inputs.npz", "--samples", "20"})
                         .out)["configurations"];
  EXPECT_FALSE(rows[1]["was_there"]);
}

// All but the times and the memory that were measured, and which rows were there before.
json without_times(const std::string& text) {
  json result = json::parse(text);
  for (json& row : result["configurations"])
    for (const char* key : {"latency_ratio", "peak_bytes", "best", "was_there"}) row.erase(key);
  return result;
}

TEST_F(Sweep, one_that_is_killed_goes_on_to_the_same_figures) {
  const std::vector<std::string> more = {"--data",       mnist + "mnist_inputs.npz",
                                         "--samples",    "16",
                                         "--checkpoint", folder / "checkpoint"};
  const json expected = without_times(sweep("fp16,w8a8,w8").out);
  std::filesystem::remove_all(out);
  std::vector<std::string> command = {"timeout",
                                      "-s",
                                      "KILL",
                                      "",
                                      VERNIER_BINARY,
                                      "sweep",
                                      mnist + "mnist_cnn.onnx",
                                      "-o",
                                      out,
                                      "--fast",
                                      "--runs",
                                      "1",
                                      "--precisions",
                                      "fp16,w8a8,w8"};
  command.insert(command.end(), more.begin(), more.end());
  std::mt19937 random(5);
  for (int kill = 0; kill < 5; ++kill) {
    command[3] = "0." + std::to_string(200 + random() % 800);
    testing::run_program(command);
  }
  const CompletedProcess resumed = sweep("fp16,w8a8,w8", more);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(without_times(resumed.out), expected);
}

TEST_F(Sweep, another_model_of_the_same_name_and_size_is_another_sweep) {
  const std::string copy = folder / "mnist_cnn.onnx";
  std::string bytes = testing::read_text(mnist + "mnist_cnn.onnx");
  std::ofstream(copy) << bytes;
  const auto was_there = [&] {
    const CompletedProcess outcome =
        run_vernier({"sweep", copy, "--precisions", "fp16", "-o", out, "--runs", "1", "-f", "json",
                     "--data", mnist + "mnist_inputs.npz", "--samples", "16"});
    return json::parse(outcome.out)["configurations"][1]["was_there"].get<bool>();
  };
  EXPECT_FALSE(was_there());
  EXPECT_TRUE(was_there());
  // The exporter's name has as many letters.
  const std::size_t at = bytes.find("pytorch");
  ASSERT_NE(at, std::string::npos);
  std::ofstream(copy) << bytes.replace(at, 7, "pytorcH");
  EXPECT_FALSE(was_there());
}

TEST_F(Sweep, other_options_are_another_sweep) {
  const auto was_there = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--data", mnist + "mnist_inputs.npz", "--samples", "16"});
    return json::parse(sweep("w8a8", more).out)["configurations"][1]["was_there"].get<bool>();
  };
  const std::vector<std::string> kept = {"--keep-float", "/stem/Conv"};
  EXPECT_FALSE(was_there({}));
  EXPECT_FALSE(was_there(kept));
  EXPECT_TRUE(was_there(kept));
}

TEST_F(Sweep, options_of_blocks_are_of_the_precisions_that_have_them) {
  const std::vector<std::string> blocks = {
      "--block-size", "16", "--data", mnist + "mnist_inputs.npz", "--samples", "16"};
  EXPECT_EQ(sweep("w8,int4", blocks).exit_code, 0);
  expect_error(sweep("w8", blocks), "are of weights in blocks");
}

TEST_F(Sweep, errors_come_before_anything_is_written) {
  expect_error(sweep("fp16,w3a7"), "w3a7");
  expect_error(sweep("fp16", {"--samples", "16"}), "give --data or --dataset");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Sweep, a_report_is_no_folder) {
  out = folder / "sweep.html";
  expect_error(sweep("fp16"),
               "is where a folder of models is written; the report goes to --report");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Sweep, a_quantized_model_is_refused) {
  expect_error(sweep("w8a8", {}, "mnist_cnn.int8.onnx"),
               "is quantized already; give the float model");
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace vernier
