#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
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

TEST_F(DecoderCommand, parts_of_a_text_make_the_bytes_of_the_whole) {
  const std::string tokens = save_tokens(11, 20);
  const auto score = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"eval",        path("near.onnx"),
                                          "--reference", path("float.onnx"),
                                          "--task",      "text-generation",
                                          "--dataset",   tokens,
                                          "--batch",     "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  };
  const std::string whole = score({"-f", "json"}).out;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    const Outcome part = score({"--shard", shard, "-o", path(shard[0] + std::string(".vpart"))});
    EXPECT_EQ(part.exit_code, 0) << part.err;
  }
  const Outcome merged =
      run_vernier({"merge", path("3.vpart"), path("1.vpart"), path("2.vpart"), "-f", "json"});
  EXPECT_EQ(merged.out, whole) << merged.err;
  const Outcome missing =
      run_vernier({"merge", path("3.vpart"), path("2.vpart"), "--allow-missing"});
  EXPECT_EQ(missing.exit_code, 3) << missing.err;
  EXPECT_THAT(missing.out, HasSubstr("7 of 11 samples"));
  const std::vector<std::string> checkpoint = {"--checkpoint", path("checkpoint"), "-f", "json"};
  EXPECT_EQ(score(checkpoint).out, whole);
  const Outcome resumed = score(checkpoint);
  EXPECT_EQ(resumed.out, whole);
  EXPECT_THAT(resumed.err, HasSubstr("[checkpoint] goes on from"));
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

TEST_F(DecoderCommand, debug_measures_projections_and_advises_by_kl_on_other_text) {
  const std::filesystem::path folder = shared_data("lm");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no folder of large models";
  const auto debug = [&](const std::string& file, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"debug",
                                          (folder / file).string(),
                                          "--reference",
                                          (folder / "model.onnx").string(),
                                          "--input-data",
                                          (folder / "tokens.npz").string(),
                                          "--samples",
                                          "4",
                                          "--advice-samples",
                                          "4",
                                          "-f",
                                          "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_vernier(arguments);
    expect_valid_json("debug", outcome.out);
    return nlohmann::json::parse(outcome.out);
  };
  const auto int4 = debug("model.int4.onnx", {"--at", "first,last,worst"});
  int measured = 0;
  for (const auto& row : int4["projections"]) {
    if (row["weight_sqnr_db"].is_null()) continue;
    EXPECT_GT(row["kl_alone"], 0) << row["node"];
    EXPECT_LT(row["kl_alone"], int4["sensitivity"]["kl_mean"]) << row["node"];
    ++measured;
  }
  EXPECT_EQ(measured, 29);
  EXPECT_EQ(int4["sensitivity"]["kept_bits"], 8);
  ASSERT_FALSE(int4["sensitivity"]["keep_in_float"].empty());
  const auto& gain = int4["sensitivity"]["keep_in_float"][0]["output"];
  EXPECT_LT(gain["kl_change_high"], 0);
  EXPECT_THAT(int4["conclusion"].get<std::string>(), HasSubstr("8 bits: KL 0.0"));
  EXPECT_TRUE(int4["model_outputs"][0].contains("kl_mean"));
  EXPECT_EQ(int4["weights"][0]["blocks"]["block_size"], 32);
  EXPECT_EQ(int4["run"]["precision"], "int4");
  const auto int8 = debug("model.int8.onnx", {});
  EXPECT_FALSE(int8["sensitivity"].contains("kept_bits"));
  EXPECT_GT(int8["sensitivity"]["kl_mean"], 0);
}

TEST_F(DecoderCommand, quantize_and_tune_are_scored_by_kl_on_text_that_was_held_back) {
  const std::filesystem::path folder = shared_data("lm");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no folder of large models";
  const std::string real = (folder / "model.onnx").string();
  const std::string tokens = (folder / "tokens.npz").string();
  const Outcome outcome = run_vernier({"quantize", real, "--precision", "int4", "--data", tokens,
                                       "-o", path("int4.onnx"), "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_valid_json("quantize", outcome.out);
  const auto quantized = nlohmann::json::parse(outcome.out);
  // Less than ONNX Runtime's file of the same size has on all of this text.
  EXPECT_LT(quantized["held_back"]["kl_mean"], 0.0097);
  EXPECT_LE(std::filesystem::file_size(path("int4.onnx")),
            std::filesystem::file_size(folder / "model.int4.onnx"));
  const Outcome tuned =
      run_vernier({"tune", real, "--precision", "int4", "--target", "kl_mean<0.003", "--data",
                   tokens, "-o", path("mixed.onnx"), "-f", "json"});
  EXPECT_EQ(tuned.exit_code, 0) << tuned.out << tuned.err;
  const auto mixed = nlohmann::json::parse(tuned.out);
  EXPECT_LT(mixed["value"], 0.003);
  EXPECT_FALSE(mixed["kept"].empty());
  EXPECT_LT(std::filesystem::file_size(path("mixed.onnx")),
            std::filesystem::file_size(folder / "model.onnx") / 2);
}

TEST_F(DecoderCommand, a_folder_of_onnxruntime_genai_says_which_file_and_which_inputs) {
  const std::filesystem::path folder = folder_.path() / "genai";
  std::filesystem::create_directory(folder);
  small_decoder().save(folder / "text.onnx");
  small_decoder({.weight_error = 0.01F}).save(folder / "other.onnx");
  std::ofstream(folder / "genai_config.json")
      << R"({"model": {"decoder": {"filename": "text.onnx", "inputs": {"input_ids": "x0",
                 "attention_mask": "x1", "position_ids": "x2", "past_key_names": "c%d"}}}})";
  const Outcome outcome =
      run_vernier({"eval", folder.string(), "--reference", path("float.onnx"), "--samples", "2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("prompts of"));
  std::ofstream(folder / "genai_config.json") << "{";
  expect_error(run_vernier({"check", folder.string()}), "is no JSON");
}

TEST_F(DecoderCommand, a_merged_decoder_takes_the_branch_of_its_cache) {
  for (const bool encoder : {false, true}) {
    merged_decoder({}, encoder).save(path("merged.onnx"));
    merged_decoder({.weight_error = 2}, encoder).save(path("merged_bad.onnx"));
    merged_decoder({.swapped = true}, encoder).save(path("merged_swapped.onnx"));
    const auto run = [&](const std::string& command, const std::string& candidate) {
      return run_vernier(
          {command, path(candidate), "--reference", path("merged.onnx"), "--samples", "3"});
    };
    EXPECT_EQ(run("eval", "merged.onnx").exit_code, 0) << run("eval", "merged.onnx").err;
    EXPECT_EQ(run("eval", "merged_bad.onnx").exit_code, 1);
    EXPECT_THAT(run("eval", "merged_swapped.onnx").out,
                HasSubstr("caches 'd0' and 'd2' are swapped"));
    EXPECT_EQ(run("layers", "merged.onnx").exit_code, 0) << run("layers", "merged.onnx").err;
    EXPECT_EQ(run("layers", "merged_bad.onnx").exit_code, 1);
    if (!encoder) {  // check cannot tell how long what the encoder found has to be
      const Outcome checked = run_vernier({"check", path("merged.onnx")});
      EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
    }
    const Outcome text =
        run_vernier({"eval", path("merged.onnx"), "--reference", path("merged.onnx"), "--task",
                     "text-generation", "--dataset", save_tokens(12, 20)});
    EXPECT_EQ(text.exit_code, 0) << text.out << text.err;
  }
  // It is the decoder that it was made of.
  EXPECT_EQ(run_vernier({"eval", path("float.onnx"), "--reference", path("float.onnx")}).exit_code,
            0);
  merged_decoder().save(path("merged.onnx"));
  const Outcome apart = run_vernier(
      {"eval", path("merged.onnx"), "--reference", path("float.onnx"), "--samples", "2"});
  EXPECT_EQ(apart.exit_code, 0) << apart.out << apart.err;
}

// A live model names its caches in its own way: they are paired in their order.
TEST_F(DecoderCommand, layers_run_at_the_worst_token_beside_a_live_model) {
  const std::filesystem::path folder = shared_data("lm");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no folder of large models";
  if (!std::filesystem::exists(VERNIER_TORCH2_PYTHON))
    GTEST_SKIP() << "no PyTorch 2: scripts/setup.sh torch2";
  const Outcome outcome = run_vernier(
      {"layers", (folder / "model.onnx").string(), "--reference", "hf:" + (folder / "hf").string(),
       "--task", "text-generation", "--input-data", (folder / "tokens.npz").string(), "--at",
       "first,worst", "--samples", "2", "--python", VERNIER_TORCH2_PYTHON, "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  expect_valid_json("layers", outcome.out);
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
    // That of one token: what kernels of other CPUs round otherwise does not average out.
    const double tolerance = name == "kl_max" ? 1e-4 : 1e-6;
    EXPECT_NEAR(metric["candidate"], value, tolerance * value) << name;
    if (name != "perplexity") continue;
    EXPECT_NEAR(metric["reference"], expected["model"]["perplexity"].get<double>(), 5e-5);
  }
}

// Of dynamic int8 in exact arithmetic, which is the same on every CPU: the file's makers had a CPU
// without VNNI, whose kernels saturate, and 8 sequences in a run.
TEST(DecoderFigures, of_int8_in_exact_arithmetic_do_not_depend_on_the_cpu) {
  const std::filesystem::path folder = shared_data("lm");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no folder of large models";
  const Outcome outcome =
      run_vernier({"eval", (folder / "model.int8.onnx").string(), "--reference",
                   (folder / "model.onnx").string(), "--task", "text-generation", "--dataset",
                   (folder / "tokens.npz").string(), "--batch", "8", "--exact", "-f", "json"});
  const auto found = nlohmann::json::parse(outcome.out);
  std::map<std::string, double> figures;
  for (const auto& metric : found["metrics"]) figures[metric["name"]] = metric["candidate"];
  EXPECT_NEAR(figures.at("perplexity"), 42.1204, 5e-3);
  EXPECT_NEAR(figures.at("kl_mean"), 0.002460, 5e-5);
}

}  // namespace
}  // namespace vernier::testing
