#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/data/small_images.h"
#include "tests/fixture.h"
#include "tests/injected_faults.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/data/npz_batches.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using testing::expect_valid_json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_vernier;

CompletedProcess debug(const std::string& float_model, const std::string& quantized_model,
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

Tensor scalar(const std::string& name, float value) {
  return tensor_of<float>(name, DType::f32, {}, {value});
}

// Arithmetic that every CPU does alike: y = -relu(x * w).
void save_float(const std::filesystem::path& path) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4, ""}}).output("y", DType::f32, {{4, ""}});
  builder.weight(tensor_of<float>("w", DType::f32, {4}, {1, 2.25F, 2, -4}));
  builder.node("Mul", {"x", "w"}, {"m"}).node("Relu", {"m"}, {"r"}).node("Neg", {"r"}, {"y"});
  builder.model().save(path);
}

// The Relu is left to the quantizer of r; the quantizer of y is far too coarse.
void save_quantized(const std::filesystem::path& path) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4, ""}}).output("y", DType::f32, {{4, ""}});
  builder.weight(tensor_of<std::int8_t>("w_quantized", DType::i8, {4}, {4, 9, 8, -15}));
  builder.weight(scalar("w_scale", 0.25F))
      .weight(scalar("fine", 0.25F))
      .weight(scalar("coarse", 4));
  builder.weight(tensor_of<std::uint8_t>("zero", DType::u8, {}, {0}));
  builder.weight(tensor_of<std::int8_t>("signed_zero", DType::i8, {}, {0}));
  builder.node("DequantizeLinear", {"w_quantized", "w_scale", "signed_zero"}, {"w_real"});
  builder.node("Mul", {"x", "w_real"}, {"r"});
  builder.node("QuantizeLinear", {"r", "fine", "zero"}, {"r_q"});
  builder.node("DequantizeLinear", {"r_q", "fine", "zero"}, {"r_dq"});
  builder.node("Neg", {"r_dq"}, {"y_QuantizeLinear_Input"});
  builder.node("QuantizeLinear", {"y_QuantizeLinear_Input", "coarse", "signed_zero"}, {"y_q"});
  builder.node("DequantizeLinear", {"y_q", "coarse", "signed_zero"}, {"y"});
  builder.model().save(path);
}

TEST(DebugCommand, the_reports_are_those_of_the_golden_files) {
  const TemporaryDirectory folder;
  save_float(folder / "float.onnx");
  save_quantized(folder / "int8.onnx");
  const Tensor inputs = tensor_of<float>("x", DType::f32, {2, 4}, {1, 1.125F, 3, 5, -2, 1, 2, -1});
  write_npz(folder / "inputs.npz", std::vector{inputs});
  for (const std::string& format : std::vector<std::string>{"text", "md", "json"}) {
    const CompletedProcess outcome = run_vernier(
        {"debug", "--float-model", folder / "float.onnx", "--quant-model", folder / "int8.onnx",
         "--input-data", folder / "inputs.npz", "-f", format, "--fail-if", "output:cumulative<15"});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    testing::expect_golden("debug." + (format == "text" ? "txt" : format), outcome.out);
  }
}

TEST(DebugCommand, text_has_the_tables_the_conclusion_and_a_line_to_paste) {
  const CompletedProcess outcome = debug("mnist_cnn.float.onnx", "mnist_cnn.int8.onnx");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part :
       {"Graph outputs", "Worst local", "Worst cumulative", "Worst weights", "clipped by design",
        "Noise at the output", "Kept in float together", "Cheaper remedies",
        "vernier tune mnist_cnn.int8.onnx --reference mnist_cnn.float.onnx --keep /"})
    EXPECT_THAT(outcome.out, HasSubstr(part));
}

// What is promised of a set is what the file has that the printed command writes.
TEST(DebugCommand, the_line_to_paste_gives_what_was_measured) {
  for (const std::string net : {"mnist_cnn", "mnist_vit"}) {
    const TemporaryDirectory folder;
    const std::string reference = mnist + net + ".float.onnx",
                      candidate = mnist + net + ".int8.onnx";
    const CompletedProcess outcome =
        run_vernier({"debug", candidate, "--reference", reference, "--input-data",
                     mnist + "mnist_inputs.npz", "-f", "json"});
    const auto sets = nlohmann::json::parse(outcome.out)["sensitivity"]["keep_in_float"];
    ASSERT_FALSE(sets.empty());
    const auto& largest = sets.back();
    std::string nodes;
    for (const std::string node : largest["nodes"]) nodes += (nodes.empty() ? "" : ",") + node;
    const std::string written = folder / "mixed.onnx";
    const CompletedProcess kept =
        run_vernier({"tune", candidate, "--reference", reference, "--keep", nodes, "-o", written});
    EXPECT_EQ(kept.exit_code, 0) << kept.err;
    EXPECT_THAT(kept.out, HasSubstr("nodes kept in float"));
    // On the second half of the samples, which the set was judged on: noise and signal are pooled.
    const Model real = Model::load(reference);
    OrtRunner expected(real.clone(), {.exact = true});
    OrtRunner mixed(Model::load(written), {.exact = true});
    const auto samples = npz_batches(mnist + "mnist_inputs.npz", real.inputs()).samples;
    double signal = 0, noise = 0;
    for (std::int64_t i = 32; i < 64; ++i) {
      const auto sums =
          measure_noise(expected.run(samples->sample(i))[0], mixed.run(samples->sample(i))[0]);
      signal += sums.reference_squares;
      noise += sums.difference_squares;
    }
    EXPECT_NEAR(10 * std::log10(signal / noise), double(largest["output"]["after_db"]), 0.05)
        << net;
  }
}

TEST(DebugCommand, json_keeps_its_schema_and_is_the_same_every_time) {
  const CompletedProcess outcome =
      debug("mnist_vit.float.onnx", "mnist_vit.int8.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_valid_json("debug", outcome.out);
  EXPECT_EQ(outcome.out, debug("mnist_vit.float.onnx", "mnist_vit.int8.onnx", {"-f", "json"}).out);
}

TEST(DebugCommand, quick_leaves_out_what_switching_quantizers_off_tells) {
  const CompletedProcess outcome =
      debug("mnist_cnn.float.onnx", "mnist_cnn.int8.onnx", {"--quick"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Worst local"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("Noise at the output")));
  EXPECT_EQ(debug("mnist_cnn.float.onnx", "mnist_cnn.int8.onnx", {"--quick", "--explain-flips"})
                .exit_code,
            2);
}

TEST(DebugCommand, markdown_and_top_limit_the_rows) {
  const CompletedProcess outcome =
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

TEST(DebugCommand, without_limits_the_outputs_are_judged_as_eval_judges_them) {
  const CompletedProcess real = debug("mnist_cnn.float.onnx", "mnist_cnn.int8.onnx", {"--quick"});
  EXPECT_EQ(real.exit_code, 0) << real.err;
  EXPECT_THAT(real.out, HasSubstr("\nPASS\n"));
  const std::vector<std::string> models = {mnist + "mnist_cnn.int8.onnx", "--reference",
                                           mnist + "mnist_cnn.float.onnx"};
  const auto verdict = [&](std::vector<std::string> command, const char* inputs) {
    command.insert(command.end(), models.begin(), models.end());
    command.insert(command.end(), {"--inputs", inputs, "--samples", "12"});
    const CompletedProcess outcome = run_vernier(command);
    const std::size_t line = outcome.out.rfind('\n', outcome.out.size() - 2);
    return std::pair(outcome.exit_code, outcome.out.substr(line + 1));
  };
  EXPECT_EQ(verdict({"debug", "--quick"}, "uniform"), verdict({"eval"}, "uniform"));
  EXPECT_EQ(verdict({"debug", "--quick"}, "uniform").first, 3);
  EXPECT_EQ(verdict({"debug", "--quick"}, "auto"), verdict({"eval"}, "auto"));
}

// Made-up inputs never leave the range of the input's own quantizer.
TEST(DebugCommand, an_input_range_far_too_narrow_does_not_pass_without_data) {
  const TemporaryDirectory folder;
  Model candidate = Model::load(mnist + "mnist_vit.int8.onnx");
  const QuantizedActivation input = find_quantization(ModelIndex(candidate)).activations.front();
  ASSERT_TRUE(scale_constant(candidate, input.quantizer.scale.name, 0.25F));
  candidate.save(folder / "narrow.onnx");
  const CompletedProcess outcome = run_vernier(
      {"debug", folder / "narrow.onnx", "--reference", mnist + "mnist_vit.float.onnx", "--quick"});
  EXPECT_EQ(outcome.exit_code, 3) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("INCONCLUSIVE"));
}

CompletedProcess debug_on_images(const std::string& folder, std::vector<std::string> more) {
  more.insert(more.begin(), {"debug", "--float-model", mnist + "mnist_cnn.float.onnx",
                             "--quant-model", mnist + "mnist_cnn.int8.onnx", "--dataset", folder});
  return run_vernier(more);
}

TEST(DebugCommand, images_are_prepared_as_another_model_wants_them) {
  const TemporaryDirectory folder;
  write_text(folder / "images/x.pgm", grey_pgm(40, 30, 128));
  write_text(folder / "model/preprocessor_config.json",
             R"({"size": {"height": 28, "width": 28}, "resample": 2})");
  const std::string images = folder / "images";
  expect_error(debug_on_images(images, {}), "model expects 28x28");
  const CompletedProcess outcome =
      debug_on_images(images, {"--model-id", folder / "model", "--task", "image-classification"});
  EXPECT_NE(outcome.exit_code, 2) << outcome.err;  // no digits: what is made of them may fail
  EXPECT_THAT(outcome.out, HasSubstr("images"));
  expect_error(debug_on_images(images, {"--model-id", images}), "pass --preprocess");
  expect_error(debug_on_images(images, {"--model-id", "nowhere.onnx"}), "no such file");
  expect_error(debug("mnist_cnn.float.onnx", "mnist_cnn.int8.onnx", {"--model-id", "x"}),
               "--model-id requires --dataset");
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
