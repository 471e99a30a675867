#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/shared_data.h"
#include "tests/temporary_directory.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using nlohmann::json;
using testing::CompletedProcess;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::read_text;
using testing::run_vernier;

class Quantize : public ::testing::Test {
 protected:
  CompletedProcess quantize(const std::string& model, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"quantize", mnist + model, "-o", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  }
  json report(const std::string& model, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--data", mnist + "mnist_inputs.npz", "-f", "json"});
    const CompletedProcess outcome = quantize(model, more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? json::parse(outcome.out) : json();
  }

  TemporaryDirectory folder;
  std::string out = folder / "q.onnx";
};

TEST_F(Quantize, fast_writes_a_model_that_eval_compares_with_the_float_one) {
  const json result = report("mnist_cnn.onnx", {"--fast"});
  EXPECT_GT(result["held_back"]["sqnr_db"], 20);
  EXPECT_GT(result["held_back"]["agreement"], 0.9);
  EXPECT_EQ(result["float_operators"], 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "q.float.onnx"));
  const CompletedProcess compared =
      run_vernier({"eval", out, "--reference", mnist + "mnist_cnn.onnx", "--input-data",
                   mnist + "mnist_inputs.npz", "--exact", "--fail-if", "sqnr_db_mean<20"});
  EXPECT_EQ(compared.exit_code, 0) << compared.out << compared.err;
}

TEST_F(Quantize, every_convolution_and_product_runs_in_integers) {
  json kernels = report("mnist_cnn.onnx", {"--fast"})["integer_kernels"];
  EXPECT_EQ(kernels["QLinearConv"], 9);
  EXPECT_EQ(kernels["QGemm"], 1);
  kernels = report("mnist_vit.onnx", {"--fast"})["integer_kernels"];
  std::int64_t products = 0;
  for (const auto& [op, count] : kernels.items()) products += count.get<std::int64_t>();
  EXPECT_EQ(products, 19) << kernels;
}

TEST_F(Quantize, no_target_saturates_unless_it_has_vnni) {
  for (const char* model : {"mnist_cnn.onnx", "mnist_vit.onnx"}) {
    const json held = report(model, {"--fast"})["held_back"];
    EXPECT_NEAR(held["sqnr_db"], held["deployed_sqnr_db"], 1.5) << model;
  }
}

// Whether activations are rounded as deployed depends on the CPU's kernels.
TEST_F(Quantize, what_weights_alone_lose_as_deployed_comes_with_the_option_that_gives_it_back) {
  const json result = report("mnist_vit.onnx", {"--precision", "w8"});
  testing::expect_valid_json("quantize", result.dump());
  const json& held = result["held_back"];
  const double loss = held["sqnr_db"].get<double>() - held["deployed_sqnr_db"].get<double>();
  EXPECT_EQ(held.contains("arithmetic"), loss > 0.5);
  if (!(loss > 0.5)) return;
  const json& why = held["arithmetic"];
  EXPECT_EQ(why["first_operator"]["op"], "MatMulNBits");
  EXPECT_EQ(why["remedy"]["kind"], "float_products");
  EXPECT_NEAR(why["remedy"]["sqnr_db"], why["exact_sqnr_db"], 0.5);
  EXPECT_THAT(result["warnings"].dump(), HasSubstr("session.qdq_matmulnbits_accuracy_level=1"));
  const CompletedProcess diagnosed =
      run_vernier({"diagnose", out, "--reference", mnist + "mnist_vit.onnx", "--data",
                   mnist + "mnist_inputs.npz", "-f", "json"});
  testing::expect_valid_json("diagnose", diagnosed.out);
  EXPECT_EQ(json::parse(diagnosed.out)["cause"]["kind"], "inexact_operator");
}

TEST_F(Quantize, choices_are_kept_only_where_they_help) {
  const json result = report("mnist_cnn.onnx");
  ASSERT_FALSE(result["decisions"].empty());
  for (const json& decision : result["decisions"])
    EXPECT_EQ(decision["kept"], decision["gain_db_interval"][0] > 0) << decision;
}

TEST_F(Quantize, every_precision_is_written_and_runs) {
  for (const char* precision :
       {"int8", "w8a8", "w8a16", "w16a16", "w8", "int4", "w4a16", "dynamic"})
    for (const char* model : {"mnist_cnn.onnx", "mnist_vit.onnx"}) {
      const json result = report(model, {"--fast", "--precision", precision});
      EXPECT_GT(result["held_back"]["sqnr_db"], 8) << precision << ' ' << model;
    }
}

TEST_F(Quantize, ranges_are_saved_edited_and_used_again) {
  const std::string ranges = folder / "ranges.json";
  report("mnist_cnn.onnx", {"--fast", "--save-ranges", ranges});
  json saved = json::parse(read_text(ranges));
  ASSERT_TRUE(saved["ranges"].contains("input"));
  saved["ranges"]["input"]["high"] = 2.0;
  std::ofstream(ranges) << saved;
  const json again = report("mnist_cnn.onnx", {"--fast", "--ranges", ranges});
  EXPECT_EQ(again["ranges"]["input"]["high"], 2.0);
  EXPECT_EQ(again["ranges"]["input"]["rule"], "given");
}

TEST_F(Quantize, limits_judge_held_back_samples) {
  const std::vector<std::string> data = {"--fast", "--data", mnist + "mnist_inputs.npz"};
  auto with = data;
  with.insert(with.end(), {"--fail-if", "sqnr_db<90"});
  EXPECT_EQ(quantize("mnist_cnn.onnx", with).exit_code, 1);
  with.back() = "sqnr_db<5";
  EXPECT_EQ(quantize("mnist_cnn.onnx", with).exit_code, 0);
}

TEST_F(Quantize, without_data_static_quantization_is_refused) {
  expect_error(quantize("mnist_cnn.onnx"), "needs calibration data");
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(quantize("mnist_cnn.onnx", {"--precision", "w8"}).exit_code, 0);
}

TEST_F(Quantize, made_up_inputs_are_taken_only_when_asked_for_and_said) {
  const CompletedProcess outcome =
      quantize("mnist_cnn.onnx", {"--synthetic", "--fast", "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(json::parse(outcome.out)["warnings"].dump(), HasSubstr("synthetic inputs"));
  EXPECT_TRUE(std::filesystem::exists(out));
  expect_error(quantize("mnist_cnn.onnx", {"--synthetic", "--data", mnist + "mnist_inputs.npz"}),
               "--synthetic");
}

TEST_F(Quantize, a_quantized_model_is_refused) {
  expect_error(quantize("mnist_cnn.int8.onnx", {"--data", mnist + "mnist_inputs.npz"}),
               "quantized already");
}

TEST_F(Quantize, few_samples_are_warned_of) {
  const json result = report("mnist_cnn.onnx", {"--fast", "--samples", "8"});
  EXPECT_THAT(result["warnings"].dump(), HasSubstr("few samples (8)"));
}

TEST_F(Quantize, data_that_does_not_fit_is_refused) {
  expect_error(quantize("mnist_cnn.onnx", {"--data", mnist + "mnist_features.npz"}), "input");
}

TEST_F(Quantize, data_that_is_not_finite_is_refused_with_its_sample) {
  Tensor images = NpzReader(mnist + "mnist_inputs.npz").read("input");
  elements<float>(images)[5 * 28 * 28] = NAN;
  expect_error(quantize("mnist_cnn.onnx", {"--data", write_npz(folder / "nan.npz", {images})}),
               "sample 5: 'input' holds NaN");
  elements<float>(images)[5 * 28 * 28] = INFINITY;
  expect_error(quantize("mnist_cnn.onnx", {"--data", write_npz(folder / "inf.npz", {images})}),
               "sample 5: output 'logits' of the float model is not finite on it");
  EXPECT_FALSE(std::filesystem::exists(out));
}

// Half of the samples show less of what a tensor holds than all of them.
TEST_F(Quantize, ranges_by_chosen_rules_are_measured_on_the_samples_that_chose_too) {
  const json result = report("mnist_vit.onnx");
  const auto& decisions = result["decisions"];
  EXPECT_EQ(decisions.back()["choice"], "ranges of all samples");
}

TEST_F(Quantize, sixteen_bits_are_not_spent_on_the_samples_alone) {
  report("mnist_cnn.onnx",
         {"--precision", "w8a16", "--fast", "--save-ranges", folder / "wide.json"});
  report("mnist_cnn.onnx", {"--precision", "int8", "--fast", "--save-ranges", folder / "r.json"});
  const json wide = json::parse(testing::read_text(folder / "wide.json"))["ranges"];
  const json narrow = json::parse(testing::read_text(folder / "r.json"))["ranges"];
  ASSERT_FALSE(wide.empty());
  for (const auto& [tensor, range] : wide.items())
    EXPECT_EQ(double(range["high"]), 2 * double(narrow[tensor]["high"])) << tensor;
}

TEST_F(Quantize, kept_nodes_stay_in_float_and_unknown_ones_are_refused) {
  const json result = report("mnist_cnn.onnx", {"--fast", "--keep-float", "/stem/Conv"});
  EXPECT_EQ(result["float_operators"], 1);
  expect_error(
      quantize("mnist_cnn.onnx", {"--data", mnist + "mnist_inputs.npz", "--keep-float", "nothing"}),
      "nothing");
}

TEST_F(Quantize, what_convert_keeps_in_float16_is_no_option_of_it) {
  expect_error(
      run_vernier({"convert", mnist + "mnist_cnn.onnx", "--precision", "int8", "--data",
                   mnist + "mnist_inputs.npz", "--keep-fp32", "node:/stem/Conv", "-o", out}),
      "--keep-fp32: is of fp16");
}

TEST_F(Quantize, convert_calls_it) {
  const CompletedProcess outcome =
      run_vernier({"convert", mnist + "mnist_cnn.onnx", "--precision", "int8", "-o", out, "--data",
                   mnist + "mnist_inputs.npz", "--fast"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Held back"));
}

}  // namespace
}  // namespace vernier
