#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/decoding/small_decoder.h"
#include "tests/shared_data.h"
#include "tests/temporary_directory.h"

namespace vernier::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DecoderCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    small_decoder().save(path("float.onnx"));
    small_decoder({.weight_error = 0.01F}).save(path("near.onnx"));
    small_decoder({.weight_error = 2}).save(path("bad.onnx"));
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  std::string save_tokens(std::int64_t rows, std::int64_t length) {
    Tensor tokens = make_tensor("x0", DType::i64, {rows, length});
    std::int64_t i = 0;
    for (std::int64_t& id : elements<std::int64_t>(tokens)) {
      id = (i * i + 7 * i) % 32;
      ++i;
    }
    write_npz(path("tokens.npz"), std::vector{tokens});
    return path("tokens.npz");
  }

  Outcome compare(const std::string& candidate, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "eval", path(candidate), "--reference", path("float.onnx"), "--samples", "3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  }

  TemporaryDirectory folder_;
};

TEST_F(DecoderCommand, eval_compares_a_prompt_and_steps_behind_its_cache) {
  const Outcome outcome = compare("float.onnx", {"--steps", "4", "--prompt-length", "6"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("prompts of 6 and 4 steps"));
  EXPECT_THAT(outcome.out, HasSubstr("d3"));
}

TEST_F(DecoderCommand, eval_names_faults_of_caches) {
  small_decoder({.swapped = true}).save(path("swapped.onnx"));
  small_decoder({.position = true}).save(path("position.onnx"));
  small_decoder({.cut = true}).save(path("cut.onnx"));
  const auto expect = [&](const std::string& candidate, const std::string& text) {
    const Outcome outcome = compare(candidate);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(text));
  };
  expect("swapped.onnx", "caches 'd0' and 'd2' are swapped");
  expect("position.onnx", "positions are off by +1");
  expect("cut.onnx", "cache 'd0' is cut wrong");
}

TEST_F(DecoderCommand, models_that_take_other_inputs_are_fed_the_same_tokens_and_caches) {
  small_decoder({.own_positions = true}).save(path("counted.onnx"));
  const Outcome outcome = compare("counted.onnx");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const Outcome other_way = run_vernier(
      {"eval", path("float.onnx"), "--reference", path("counted.onnx"), "--samples", "2"});
  EXPECT_EQ(other_way.exit_code, 0) << other_way.out << other_way.err;
}

TEST_F(DecoderCommand, each_model_goes_its_own_way_with_generate) {
  EXPECT_EQ(compare("float.onnx", {"--generate"}).exit_code, 0);
  EXPECT_EQ(compare("bad.onnx", {"--generate"}).exit_code, 1);
}

TEST_F(DecoderCommand, check_record_inspect_and_debug_run_it) {
  EXPECT_EQ(run_vernier({"check", path("float.onnx")}).exit_code, 0);
  EXPECT_EQ(run_vernier({"inspect", path("float.onnx")}).exit_code, 0);
  for (const std::string which : {"inputs", "outputs"}) {
    const Outcome recorded =
        run_vernier({"record", path("float.onnx"), "-o", path(which), "--tensors", which});
    EXPECT_EQ(recorded.exit_code, 0) << recorded.err;
  }
  const Outcome replayed = run_vernier(
      {"eval", path("float.onnx"), "--reference", path("outputs"), "--input-data", path("inputs")});
  EXPECT_EQ(replayed.exit_code, 0) << replayed.out << replayed.err;
}

TEST_F(DecoderCommand, text_generation_scores_tokens) {
  const std::string tokens = save_tokens(12, 20);
  const auto score = [&](const std::string& candidate, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "eval",   path(candidate),   "--reference", path("float.onnx"),
        "--task", "text-generation", "--dataset",   tokens};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  };
  const Outcome near = score("near.onnx");
  EXPECT_EQ(near.exit_code, 0) << near.out << near.err;
  EXPECT_THAT(near.out, HasSubstr("perplexity_ratio"));
  EXPECT_EQ(score("bad.onnx").exit_code, 1);
  EXPECT_EQ(score("near.onnx", {"--samples", "1"}).exit_code, 3);
  EXPECT_EQ(score("near.onnx", {"--fail-if", "kl_mean>1e-12"}).exit_code, 1);
  const Outcome json = score("near.onnx", {"-f", "json", "--batch", "4"});
  expect_valid_json("text-generation", json.out);
  EXPECT_EQ(nlohmann::json::parse(json.out)["num_scored_positions"], 12 * 19);
}

TEST_F(DecoderCommand, text_that_cannot_be_scored_is_a_one_line_error) {
  const auto score = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"eval", path("float.onnx"), "--task", "text-generation"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  };
  expect_error(score({"--mode", "task"}), "pass --text");
  expect_error(score({"--text", path("none.txt")}), "--tokenizer");
  expect_error(score({"--text", path("none.txt"), "--tokenizer", path("none.json")}),
               "no such file");
  expect_error(score({"--dataset", save_tokens(2, 70)}), "[");
  expect_error(compare("near.onnx", {"--role", "past*=cache"}), "no input of the model fits");
  expect_error(compare("near.onnx", {"--role", "x0=words"}), "the roles are");
}

// The figures that the files' makers have, on every CPU where they do not depend on it.
TEST(DecoderFigures, of_a_real_model_equal_those_that_are_known) {
  const std::filesystem::path folder = shared_data("lm");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no folder of large models";
  const auto expected = nlohmann::json::parse(read_text((folder / "expected.json").string()));
  const Outcome outcome =
      run_vernier({"eval", (folder / "model.int4.onnx").string(), "--reference",
                   (folder / "model.onnx").string(), "--task", "text-generation", "--dataset",
                   (folder / "tokens.npz").string(), "-f", "json"});
  const auto found = nlohmann::json::parse(outcome.out);
  for (const auto& metric : found["metrics"]) {
    const std::string name = metric["name"];
    if (!expected["model.int4"].contains(name)) continue;
    const double value = expected["model.int4"][name];
    EXPECT_NEAR(metric["candidate"], value, 1e-6 * value) << name;
    if (name != "perplexity") continue;
    EXPECT_NEAR(metric["reference"], expected["model"]["perplexity"].get<double>(), 5e-5);
  }
}

}  // namespace
}  // namespace vernier::testing
