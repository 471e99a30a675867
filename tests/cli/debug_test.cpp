#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run.h"

namespace vernier {
namespace {

using testing::expect_error;
using testing::expect_valid_json;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::run_vernier;

const std::string mnist = VERNIER_FIXTURES "/mnist/";

Outcome debug(const std::string& float_model, const std::string& quantized_model,
              const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"debug",
                                        "--float-model",
                                        mnist + float_model,
                                        "--quant-model",
                                        mnist + quantized_model,
                                        "--input-data",
                                        mnist + "mnist_inputs.npz",
                                        "--samples",
                                        "4"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_vernier(arguments);
}

TEST(DebugCommand, text_has_the_tables_the_conclusion_and_a_line_to_paste) {
  const Outcome outcome = debug("mnist_cnn.float.onnx", "mnist_cnn.int8.onnx");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part :
       {"Graph outputs", "Worst local", "Worst cumulative", "Worst weights", "clipped by design",
        "The loss is", "nodes_to_exclude=['/layer", "--keep-fp32 node:/layer"})
    EXPECT_THAT(outcome.out, HasSubstr(part));
}

TEST(DebugCommand, json_keeps_its_schema_and_is_the_same_every_time) {
  const Outcome outcome = debug("mnist_vit.float.onnx", "mnist_vit.int8.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_valid_json("debug", outcome.out);
  EXPECT_EQ(outcome.out, debug("mnist_vit.float.onnx", "mnist_vit.int8.onnx", {"-f", "json"}).out);
}

TEST(DebugCommand, markdown_and_top_limit_the_rows) {
  const Outcome outcome =
      debug("mnist_cnn.float.onnx", "mnist_cnn.int8.onnx", {"-f", "md", "--top", "1"});
  EXPECT_THAT(outcome.out, HasSubstr("## Worst weights"));
  EXPECT_EQ(outcome.out.find("onnx::Conv\\_86"), std::string::npos);
}

TEST(DebugCommand, limits_decide_the_exit_code) {
  EXPECT_EQ(
      debug("mnist_cnn.float.onnx", "mnist_cnn.int8.onnx", {"--fail-if", "output:cumulative<10"})
          .exit_code,
      0);
  EXPECT_EQ(
      debug("mnist_cnn.float.onnx", "mnist_cnn.int8.onnx", {"--fail-if", "output:cumulative<60"})
          .exit_code,
      1);
}

TEST(DebugCommand, pairs_that_make_no_sense_are_one_line_errors) {
  expect_error(debug("mnist_cnn.float.onnx", "mnist_cnn.float.onnx"), "same model");
  expect_error(debug("mnist_cnn.int8.onnx", "mnist_cnn.float.onnx"), "swap");
  expect_error(debug("mnist_cnn.float.onnx", "mnist_cnn.onnx"), "nothing in it is quantized");
  expect_error(debug("mnist_cnn.float.onnx", "nowhere.onnx"), "nowhere.onnx");
  expect_error(debug("mnist_cnn.float.onnx", "mnist_cnn.int8.onnx", {"--fail-if", "typo<1"}),
               "typo");
}

}  // namespace
}  // namespace vernier
