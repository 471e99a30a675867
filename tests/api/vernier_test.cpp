// The functions of vernier/vernier.h say what the program says.
#include "vernier/vernier.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/decoding/genai_decoder.h"
#include "tests/fixture.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using nlohmann::json;
using Arguments = std::vector<std::string>;

json report_of(Arguments arguments) {
  arguments.insert(arguments.end(), {"-f", "json"});
  const testing::CompletedProcess outcome = testing::run_vernier(arguments);
  EXPECT_NE(outcome.exit_code, 2) << outcome.err;
  return json::parse(outcome.out);
}

json names(const std::vector<FloatSet>& sets) {
  json names = json::array();
  for (const FloatSet& set : sets) names.push_back(set.nodes);
  return names;
}

json names(const std::vector<QuantizerRemedy>& remedies) {
  json names = json::array();
  for (const QuantizerRemedy& remedy : remedies) names.push_back(remedy.tensor);
  return names;
}

void expect_same_advice(const json& report, const DebugResult& result) {
  const json& told = report["sensitivity"];
  const Sensitivity& sensitivity = result.sensitivity.value();
  EXPECT_EQ(told["samples"], sensitivity.samples);
  EXPECT_EQ(told["held_out_samples"], sensitivity.held_out);
  json sets = json::array(), remedies = json::array();
  for (const json& set : told["keep_in_float"]) sets.push_back(set["nodes"]);
  for (const json& remedy : told["remedies"]) remedies.push_back(remedy["tensor"]);
  EXPECT_EQ(sets, names(sensitivity.keep_in_float));
  EXPECT_EQ(remedies, names(sensitivity.remedies));
  EXPECT_EQ(report["verdict"]["outcome"], std::string(outcome_name(result.verdict.outcome)));
}

TEST(Library, debug_gives_the_advice_of_the_program) {
  const std::string reference = mnist + "mnist_cnn.float.onnx";
  const auto expect = [&](const Arguments& data, const InputSpec& inputs) {
    Arguments arguments = {"debug", mnist_int8, "--reference", reference};
    arguments.insert(arguments.end(), data.begin(), data.end());
    expect_same_advice(report_of(arguments),
                       debug(reference, mnist_int8, inputs, {.switches = true}));
  };
  expect({"--input-data", mnist_inputs, "--samples", "8"}, {.samples = 8, .data = mnist_inputs});
  expect({}, {});
}

TEST(Library, debug_chooses_advice_for_a_decoder_on_the_sequences_of_the_program) {
  const TemporaryDirectory folder;
  const std::string reference = folder / "float.onnx", candidate = folder / "int4.onnx",
                    data = folder / "tokens.npz";
  fused_decoder().save(reference);
  fused_decoder({.four_bits = true}).save(candidate);
  Tensor tokens = make_tensor("x0", DType::i64, {40, 20});
  std::int64_t next = 0;
  for (std::int64_t& id : elements<std::int64_t>(tokens)) id = 7 * next++ % 32;
  write_npz(data, std::vector{tokens});
  const DebugResult result =
      debug(reference, candidate, {.samples = 1, .data = data}, {.switches = true});
  expect_same_advice(
      report_of({"debug", candidate, "--reference", reference, "--data", data, "--samples", "1"}),
      result);
  EXPECT_EQ(result.sensitivity.value().samples, 20);
  EXPECT_TRUE(result.run_map.has_value());
}

TEST(Library, compare_takes_the_recorded_candidates_of_the_program) {
  const TemporaryDirectory folder;
  const std::string reference = folder / "reference.npz", candidate = folder / "candidate.npz";
  const auto record = [](const std::string& model, const std::string& file) {
    return testing::run_vernier(
        {"record", model, "--input-data", mnist_inputs, "--samples", "8", "-o", file});
  };
  ASSERT_EQ(record(mnist_cnn, reference).exit_code, 0);
  ASSERT_EQ(record(mnist_int8, candidate).exit_code, 0);
  for (const std::string precision : {"", "fp16", "int8"}) {
    Arguments arguments = {"eval", candidate, "--reference", reference};
    if (!precision.empty()) arguments.insert(arguments.end(), {"--precision", precision});
    const json report = report_of(arguments);
    const CompareResult result = compare(reference, candidate, {}, {.precision = precision});
    EXPECT_EQ(result.samples, 8);
    EXPECT_EQ(report["verdict"]["outcome"], std::string(outcome_name(result.verdict.outcome)));
    EXPECT_EQ(report["verdict"]["limits"], json(format_limits(result.verdict.limits)));
  }
}

TEST(Library, compare_takes_a_torchscript_candidate) {
  if (torch_version().empty()) GTEST_SKIP() << "built without libtorch";
  const CompareResult result =
      compare(mnist_cnn, mnist + "mnist_cnn.pt", {.samples = 4, .data = mnist_inputs});
  EXPECT_EQ(result.samples, 4);
  EXPECT_TRUE(result.verdict.pass());
}

}  // namespace
}  // namespace vernier
