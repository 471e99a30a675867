#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/decoding/genai_decoder.h"
#include "tests/decoding/small_decoder.h"
#include "tests/shared_data.h"
#include "tests/temporary_directory.h"
#include "vernier/analysis/decoding/decoder_inputs.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"

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

  // The first tokens of each sequence: as telling as all 128, in a fraction of the time.
  std::string first_tokens(const std::filesystem::path& file, std::int64_t length) {
    const Tensor all = NpzReader(file).read("input_ids");
    Tensor tokens = make_tensor("input_ids", DType::i64, {all.shape[0], length});
    for (std::int64_t row = 0; row < all.shape[0]; ++row)
      std::ranges::copy(elements<std::int64_t>(all.view()).subspan(row * all.shape[1], length),
                        elements<std::int64_t>(tokens).begin() + row * length);
    write_npz(path("first_tokens.npz"), std::vector{tokens});
    return path("first_tokens.npz");
  }

  CompletedProcess compare(const std::string& candidate, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "eval", path(candidate), "--reference", path("float.onnx"), "--samples", "3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  }

  TemporaryDirectory folder_;
};

TEST_F(DecoderCommand, eval_compares_a_prompt_and_steps_behind_its_cache) {
  const CompletedProcess outcome = compare("float.onnx", {"--steps", "4", "--prompt-length", "6"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("prompts of 6 and 4 steps"));
  EXPECT_THAT(outcome.out, HasSubstr("d3"));
}

TEST_F(DecoderCommand, eval_names_faults_of_caches) {
  small_decoder({.swapped = true}).save(path("swapped.onnx"));
  small_decoder({.position = true}).save(path("position.onnx"));
  small_decoder({.cut = true}).save(path("cut.onnx"));
  const auto expect = [&](const std::string& candidate, const std::string& text) {
    const CompletedProcess outcome = compare(candidate);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(text));
  };
  expect("swapped.onnx", "caches 'd0' and 'd2' are swapped");
  expect("position.onnx", "positions are off by +1");
  expect("cut.onnx", "cache 'd0' is cut wrong");
}

TEST_F(DecoderCommand, models_that_take_other_inputs_are_fed_the_same_tokens_and_caches) {
  small_decoder({.own_positions = true}).save(path("counted.onnx"));
  const CompletedProcess outcome = compare("counted.onnx");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const CompletedProcess other_way = run_vernier(
      {"eval", path("float.onnx"), "--reference", path("counted.onnx"), "--samples", "2"});
  EXPECT_EQ(other_way.exit_code, 0) << other_way.out << other_way.err;
}

// Lengths that are one number as long as there is no cache are no layers that differ behind one.
TEST_F(DecoderCommand, layers_are_not_paired_by_numbers_that_only_the_prompt_has_in_common) {
  small_decoder({.own_positions = true}).save(path("counted.onnx"));
  for (const auto& [candidate, reference] :
       {std::pair("counted.onnx", "float.onnx"), std::pair("float.onnx", "counted.onnx")}) {
    const CompletedProcess outcome =
        run_vernier({"layers", path(candidate), "--reference", path(reference), "--samples", "6"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  }
}

TEST_F(DecoderCommand, each_model_goes_its_own_way_with_generate) {
  const CompletedProcess same = compare("float.onnx", {"--generate"});
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  EXPECT_THAT(same.out, HasSubstr("each model continues with its own tokens"));
  EXPECT_EQ(compare("bad.onnx", {"--generate"}).exit_code, 1);
}

TEST_F(DecoderCommand, check_record_inspect_and_debug_run_it) {
  EXPECT_EQ(run_vernier({"check", path("float.onnx")}).exit_code, 0);
  EXPECT_EQ(run_vernier({"inspect", path("float.onnx")}).exit_code, 0);
  for (const std::string which : {"inputs", "outputs"}) {
    const CompletedProcess recorded =
        run_vernier({"record", path("float.onnx"), "-o", path(which), "--tensors", which});
    EXPECT_EQ(recorded.exit_code, 0) << recorded.err;
  }
  const CompletedProcess replayed = run_vernier(
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
  const CompletedProcess near = score("near.onnx");
  EXPECT_EQ(near.exit_code, 0) << near.out << near.err;
  EXPECT_THAT(near.out, HasSubstr("perplexity_ratio"));
  EXPECT_EQ(score("bad.onnx").exit_code, 1);
  EXPECT_EQ(score("near.onnx", {"--samples", "1"}).exit_code, 3);
  EXPECT_EQ(score("near.onnx", {"--fail-if", "kl_mean>1e-12"}).exit_code, 1);
  const CompletedProcess json = score("near.onnx", {"-f", "json", "--batch", "4"});
  expect_valid_json("text-generation", json.out);
  EXPECT_EQ(nlohmann::json::parse(json.out)["num_scored_positions"], 12 * 19);
}

// Blocks are scored without a cache: a fault of one leaves every figure as it is.
TEST_F(DecoderCommand, text_generation_fails_by_caches_that_are_others) {
  small_decoder({.swapped = true}).save(path("swapped.onnx"));
  const auto score = [&](const std::string& format) {
    return run_vernier({"eval", path("swapped.onnx"), "--reference", path("float.onnx"), "--task",
                        "text-generation", "--dataset", save_tokens(12, 20), "-f", format});
  };
  const CompletedProcess outcome = score("json");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  expect_valid_json("text-generation", outcome.out);
  const auto result = nlohmann::json::parse(outcome.out);
  for (const auto& metric : result["metrics"])
    if (metric["name"] == "kl_mean") {
      EXPECT_EQ(metric["candidate"], 0);
    }
  ASSERT_EQ(result["cache_faults"].size(), 1);
  EXPECT_THAT(result["cache_faults"][0].get<std::string>(), HasSubstr("'d0' and 'd2' are swapped"));
  EXPECT_THAT(score("text").out, HasSubstr("FAIL: cache d0: "));
}

TEST_F(DecoderCommand, text_generation_is_scored_beside_recorded_logits) {
  const std::string tokens = save_tokens(12, 20);
  const CompletedProcess recorded =
      run_vernier({"record", path("float.onnx"), "--input-data", tokens, "--whole-sequences",
                   "--tensors", "y", "-o", path("recorded.npz")});
  EXPECT_EQ(recorded.exit_code, 0);
  EXPECT_EQ(recorded.err, "");  // an output that is named needs no other tensor
  EXPECT_THAT(recorded.out, HasSubstr("of 12 samples"));
  const auto metrics = [&](const std::string& reference, std::vector<std::string> more) {
    more.insert(more.begin(), {"eval", path("near.onnx"), "--reference", path(reference), "--task",
                               "text-generation", "--dataset", tokens, "-f", "json"});
    const CompletedProcess outcome = run_vernier(more);
    EXPECT_NE(outcome.exit_code, 2) << outcome.err;
    return outcome.out.empty() ? nlohmann::json() : nlohmann::json::parse(outcome.out)["metrics"];
  };
  for (const std::vector<std::string>& more : {{}, std::vector<std::string>{"--samples", "5"}}) {
    const auto beside = metrics("recorded.npz", more), live = metrics("float.onnx", more);
    ASSERT_EQ(beside.size(), live.size());
    for (std::size_t i = 0; i < live.size(); ++i)
      EXPECT_NEAR(beside[i]["candidate"], live[i]["candidate"].get<double>(), 1e-5) << live[i];
  }
  const auto one = metrics("recorded.npz", {}), batched = metrics("recorded.npz", {"--batch", "4"});
  EXPECT_EQ(one, batched);
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
    const CompletedProcess part =
        score({"--shard", shard, "-o", path(shard[0] + std::string(".vpart"))});
    EXPECT_EQ(part.exit_code, 0) << part.err;
  }
  const CompletedProcess merged =
      run_vernier({"merge", path("3.vpart"), path("1.vpart"), path("2.vpart"), "-f", "json"});
  EXPECT_EQ(merged.out, whole) << merged.err;
  const CompletedProcess missing =
      run_vernier({"merge", path("3.vpart"), path("2.vpart"), "--allow-missing"});
  EXPECT_EQ(missing.exit_code, 3) << missing.err;
  EXPECT_THAT(missing.out, HasSubstr("7 of 11 samples"));
  const std::vector<std::string> checkpoint = {"--checkpoint", path("checkpoint"), "-f", "json"};
  EXPECT_EQ(score(checkpoint).out, whole);
  const CompletedProcess resumed = score(checkpoint);
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
  const std::string tokens = first_tokens(folder / "tokens.npz", 40);
  const auto debug = [&](const std::string& file, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"debug",
                                          (folder / file).string(),
                                          "--reference",
                                          (folder / "model.onnx").string(),
                                          "--input-data",
                                          tokens,
                                          "--samples",
                                          "4",
                                          "--advice-samples",
                                          "4",
                                          "-f",
                                          "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CompletedProcess outcome = run_vernier(arguments);
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
  const std::string tokens = first_tokens(folder / "tokens.npz", 24);
  const CompletedProcess outcome = run_vernier({"quantize", real, "--precision", "int4", "--data",
                                                tokens, "-o", path("int4.onnx"), "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_valid_json("quantize", outcome.out);
  const auto quantized = nlohmann::json::parse(outcome.out);
  // Less than ONNX Runtime's file of the same size has on all of this text.
  EXPECT_LT(quantized["held_back"]["kl_mean"], 0.0097);
  EXPECT_LE(std::filesystem::file_size(path("int4.onnx")),
            std::filesystem::file_size(folder / "model.int4.onnx"));
  const CompletedProcess tuned =
      run_vernier({"tune", real, "--precision", "int4", "--target", "kl_mean<0.003", "--data",
                   tokens, "-o", path("mixed.onnx"), "-f", "json"});
  EXPECT_EQ(tuned.exit_code, 0) << tuned.out << tuned.err;
  const auto mixed = nlohmann::json::parse(tuned.out);
  EXPECT_LT(mixed["value"], 0.003);
  EXPECT_FALSE(mixed["kept"].empty());
  EXPECT_LT(std::filesystem::file_size(path("mixed.onnx")),
            std::filesystem::file_size(folder / "model.onnx") / 2);
}

TEST_F(DecoderCommand, sweep_shows_the_kl_of_every_precision) {
  fused_decoder().save(path("fused.onnx"));
  const std::vector<std::string> command = {
      "sweep",  path("fused.onnx"),  "--precisions", "fp16,w8,int4",
      "--data", save_tokens(16, 20), "--runs",       "1",
      "-o",     path("sweep"),       "-f",           "json"};
  const CompletedProcess outcome = run_vernier(command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_valid_json("sweep", outcome.out);
  std::map<std::string, double> kl;
  const auto first = nlohmann::json::parse(outcome.out);
  for (const auto& row : first["configurations"])
    kl[row["precision"].get<std::string>()] = row.value("kl_mean", -1.0);
  EXPECT_EQ(kl["fp32"], 0) << outcome.out;
  EXPECT_GT(kl["w8"], 0);
  EXPECT_GT(kl["int4"], 10 * kl["w8"]);
  // Rows of before have it, too.
  const auto again = nlohmann::json::parse(run_vernier(command).out);
  for (const auto& row : again["configurations"])
    EXPECT_EQ(row.value("kl_mean", -1.0), kl[row["precision"].get<std::string>()]) << row;
}

TEST_F(DecoderCommand, a_folder_of_onnxruntime_genai_says_which_file_and_which_inputs) {
  const std::filesystem::path folder = folder_.path() / "genai";
  std::filesystem::create_directory(folder);
  small_decoder().save(folder / "text.onnx");
  small_decoder({.weight_error = 0.01F}).save(folder / "other.onnx");
  std::ofstream(folder / "genai_config.json")
      << R"({"model": {"decoder": {"filename": "text.onnx", "inputs": {"input_ids": "x0",
                 "attention_mask": "x1", "position_ids": "x2", "past_key_names": "c%d"}}}})";
  const CompletedProcess outcome =
      run_vernier({"eval", folder.string(), "--reference", path("float.onnx"), "--samples", "2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("prompts of"));
  std::ofstream(folder / "genai_config.json") << "{";
  expect_error(run_vernier({"check", folder.string()}), "is no JSON");
}

// Fused attention, norms and weights of 4 bits, as such folders hold them.
TEST_F(DecoderCommand, folders_of_fused_operators_run_in_every_command) {
  const auto save = [&](const std::string& name, const FusedDecoderOptions& options) {
    std::filesystem::create_directory(folder_.path() / name);
    fused_decoder(options).save(folder_.path() / name / "model.onnx");
    std::ofstream(folder_.path() / name / "genai_config.json")
        << R"({"model": {"decoder": {"filename": "model.onnx", "inputs": {
                "input_ids": "input_ids", "attention_mask": "attention_mask",
                "past_key_names": "past.%d.key", "past_value_names": "past.%d.value"}}}})";
  };
  save("whole", {});
  save("int4", {.four_bits = true});
  save("without_rotary", {.rotary = false});
  const auto run = [&](const std::string& command, const std::string& candidate,
                       std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                {command, path(candidate), "--reference", path("whole"), "--samples", "4"});
    return run_vernier(more);
  };
  for (const char* command : {"eval", "layers"}) {
    const CompletedProcess same = run(command, "whole");
    EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
    const CompletedProcess changed = run(command, "without_rotary");
    EXPECT_EQ(changed.exit_code, 1) << changed.out << changed.err;
  }
  const auto json = [&](const std::string& command) {
    const CompletedProcess outcome =
        run(command, "int4", {"--input-data", save_tokens(8, 20), "-f", "json"});
    expect_valid_json(command, outcome.out);
    return outcome.out.empty() ? nlohmann::json() : nlohmann::json::parse(outcome.out);
  };
  const auto debugged = json("debug"), layered = json("layers");
  const auto kinds = [](const nlohmann::json& result) {
    std::map<std::string, int> found;
    for (const auto& row : result["projections"]) ++found[row["projection"]];
    return found;
  };
  const std::map<std::string, int> expected = {
      {"embedding", 1}, {"norm", 5}, {"q", 2},  {"k", 2},    {"v", 2},
      {"o", 2},         {"gate", 2}, {"up", 2}, {"down", 2}, {"head", 1}};
  EXPECT_EQ(kinds(debugged), expected);
  EXPECT_EQ(kinds(layered), expected);
  EXPECT_GT(debugged["sensitivity"]["kl_mean"], 0);
  EXPECT_GT(layered["kl_mean"], 0);
  const CompletedProcess text =
      run("eval", "int4", {"--task", "text-generation", "--dataset", save_tokens(12, 20)});
  EXPECT_NE(text.exit_code, 2) << text.err;
  EXPECT_THAT(text.out, HasSubstr("kl_mean"));
  for (const char* command : {"check", "inspect"})
    EXPECT_EQ(run_vernier({command, path("int4")}).exit_code, 0) << command;
  const CompletedProcess recorded =
      run_vernier({"record", path("int4"), "--tensors", "outputs", "-o", path("recorded")});
  EXPECT_EQ(recorded.exit_code, 0) << recorded.err;
}

// What lengths are computed from makes no difference to the figures. Nodes that are numbered have
// other names then.
TEST_F(DecoderCommand, debug_feeds_a_float_model_of_other_inputs_the_same_tokens_and_caches) {
  fused_decoder().save(path("masked.onnx"));
  fused_decoder({.masked = false}).save(path("counted.onnx"));
  fused_decoder({.four_bits = true}).save(path("int4.onnx"));
  const std::string tokens = save_tokens(8, 20);
  const auto run = [&](const std::string& command, const std::string& candidate,
                       const std::string& reference) {
    const CompletedProcess outcome =
        run_vernier({command, path(candidate), "--reference", path(reference), "--input-data",
                     tokens, "--samples", "2", "-f", "json"});
    EXPECT_NE(outcome.exit_code, 2) << command << " " << candidate << " " << outcome.err;
    expect_valid_json(command, outcome.out);
    return outcome.out.empty() ? nlohmann::json() : nlohmann::json::parse(outcome.out);
  };
  for (const char* command : {"debug", "layers"}) {
    auto same = run(command, "int4.onnx", "masked.onnx");
    auto other = run(command, "int4.onnx", "counted.onnx");
    ASSERT_FALSE(same["projections"].empty());
    for (auto* result : {&same, &other})
      for (auto& row : (*result)["projections"]) row.erase("node");
    EXPECT_EQ(other["projections"], same["projections"]) << command;
    EXPECT_EQ(other["verdict"], same["verdict"]) << command;
  }
  const auto drawn = run_vernier(
      {"debug", path("int4.onnx"), "--reference", path("counted.onnx"), "--samples", "2"});
  EXPECT_NE(drawn.exit_code, 2) << drawn.err;
}

// Hundreds of sets are tried: on as many tokens, however long the sequences are.
TEST_F(DecoderCommand, debug_chooses_advice_on_as_many_tokens_of_long_sequences) {
  fused_decoder().save(path("float.onnx"));
  fused_decoder({.four_bits = true}).save(path("int4.onnx"));
  const auto sensitivity = [&](std::int64_t length, std::vector<std::string> more = {}) {
    more.insert(more.begin(),
                {"debug", path("int4.onnx"), "--reference", path("float.onnx"), "--input-data",
                 save_tokens(40, length), "--samples", "1", "-f", "json"});
    return nlohmann::json::parse(run_vernier(more).out)["sensitivity"];
  };
  const auto longer = sensitivity(60), shorter = sensitivity(20);
  EXPECT_EQ(longer["samples"], 18);  // of 60 tokens: 1024
  EXPECT_EQ(longer["held_out_samples"], 22);
  EXPECT_EQ(shorter["samples"], 20);
  EXPECT_EQ(shorter["held_out_samples"], 20);
  EXPECT_EQ(sensitivity(60, {"--advice-samples", "3"})["samples"], 3);
}

// As onnxruntime-genai stores them for GPUs: scales and activations in float16.
TEST_F(DecoderCommand, weights_of_four_bits_beside_float16_are_compared) {
  const auto save = [&](const std::string& name, bool four_bits) {
    GraphBuilder builder;
    builder.input("x", DType::f16, {{-1, "n"}, {32, ""}})
        .output("y", DType::f16, {{-1, "n"}, {8, ""}});
    Tensor packed = make_tensor("w_Q4", DType::u8, {8, 1, 16});
    Tensor scales = make_tensor("scales", DType::f32, {8}),
           weight = make_tensor("w", DType::f32, {32, 8});
    for (int column = 0; column < 8; ++column) {
      elements<float>(scales)[column] = 0.125F;
      for (int row = 0; row < 32; ++row) {
        const int stored = (row * 5 + column * 3) % 16;
        elements<std::uint8_t>(packed)[column * 16 + row / 2] |=
            static_cast<std::uint8_t>(stored << (row % 2 * 4));
        elements<float>(weight)[row * 8 + column] = 0.125F * static_cast<float>(stored - 8) + 0.03F;
      }
    }
    if (four_bits)
      builder.weight(packed)
          .weight(convert(scales, DType::f16))
          .node("MatMulNBits", {"x", "w_Q4", "scales"}, {"y"},
                {int_attribute("K", 32), int_attribute("N", 8), int_attribute("bits", 4),
                 int_attribute("block_size", 32)},
                "com.microsoft");
    else
      builder.weight(convert(weight, DType::f16)).node("MatMul", {"x", "w"}, {"y"});
    vernier_onnx::ModelProto proto = builder.proto();
    auto& fused = *proto.add_opset_import();
    fused.set_domain("com.microsoft");
    fused.set_version(1);
    Model(std::move(proto), {}, name).save(path(name));
  };
  save("half.onnx", false);
  save("half.int4.onnx", true);
  for (const char* command : {"eval", "debug"}) {
    const CompletedProcess outcome =
        run_vernier({command, path("half.int4.onnx"), "--reference", path("half.onnx")});
    EXPECT_NE(outcome.exit_code, 2) << command << outcome.err;
    EXPECT_THAT(outcome.out, Not(HasSubstr("was not measured"))) << command;
  }
}

// The float model holds the head in two parts: there is nothing to switch it to.
TEST_F(DecoderCommand, debug_leaves_weights_of_four_bits_without_a_counterpart_as_they_are) {
  fused_decoder({.four_bits = true}).save(path("int4.onnx"));
  Model whole = fused_decoder();
  vernier_onnx::GraphProto& graph = whole.graph();
  for (auto& weight : *graph.mutable_initializer()) {
    if (weight.name() != "head") continue;
    const Tensor head = whole.tensor(weight);
    const auto values = elements<float>(head.view());
    GraphBuilder parts;
    for (const int part : {0, 1}) {
      Tensor half = make_tensor("half_" + std::to_string(part), DType::f32, {16, 64});
      std::ranges::copy(values.subspan(part * 1024, 1024), elements<float>(half).begin());
      parts.weight(half);
    }
    parts.node("Concat", {"half_0", "half_1"}, {"head"}, {int_attribute("axis", 0)});
    parts.graph().mutable_node(0)->set_name("join");
    weight = parts.graph().initializer(0);
    *graph.add_initializer() = parts.graph().initializer(1);
    *graph.add_node() = parts.graph().node(0);
    break;
  }
  graph.mutable_node()->SwapElements(graph.node_size() - 2, graph.node_size() - 1);
  whole.save(path("parts.onnx"));
  const CompletedProcess outcome =
      run_vernier({"debug", path("int4.onnx"), "--reference", path("parts.onnx"), "--input-data",
                   save_tokens(8, 20), "--samples", "2", "-f", "json"});
  ASSERT_NE(outcome.exit_code, 2) << outcome.err;
  const auto sensitivity = nlohmann::json::parse(outcome.out)["sensitivity"];
  EXPECT_EQ(sensitivity["nodes"].size(), 14) << outcome.out;
  EXPECT_THAT(sensitivity["unswitched"].dump(), HasSubstr("head_Q4"));
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
      const CompletedProcess checked = run_vernier({"check", path("merged.onnx")});
      EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
    }
    const CompletedProcess text =
        run_vernier({"eval", path("merged.onnx"), "--reference", path("merged.onnx"), "--task",
                     "text-generation", "--dataset", save_tokens(12, 20)});
    EXPECT_EQ(text.exit_code, 0) << text.out << text.err;
  }
  // It is the decoder that it was made of.
  EXPECT_EQ(run_vernier({"eval", path("float.onnx"), "--reference", path("float.onnx")}).exit_code,
            0);
  merged_decoder().save(path("merged.onnx"));
  const CompletedProcess apart = run_vernier(
      {"eval", path("merged.onnx"), "--reference", path("float.onnx"), "--samples", "2"});
  EXPECT_EQ(apart.exit_code, 0) << apart.out << apart.err;
}

// Without the rotary embedding, what the first layer's projections compute is the same.
TEST_F(DecoderCommand, layers_show_projections_and_the_kl_of_the_next_token) {
  fused_decoder().save(path("fused.onnx"));
  fused_decoder({.rotary = false}).save(path("without_rotary.onnx"));
  const auto layers = [&](const std::string& candidate) {
    const CompletedProcess outcome =
        run_vernier({"layers", path(candidate), "--reference", path("fused.onnx"), "--samples", "2",
                     "-f", "json"});
    expect_valid_json("layers", outcome.out);
    return nlohmann::json::parse(outcome.out);
  };
  EXPECT_EQ(layers("fused.onnx")["kl_mean"], 0);
  const auto changed = layers("without_rotary.onnx");
  EXPECT_GT(changed["kl_mean"], 1e-4);
  std::map<std::string, nlohmann::json> found;
  for (const auto& row : changed["projections"])
    found[row["layer"].dump() + " " + row["projection"].get<std::string>()] = row["sqnr_db"];
  for (const char* equal : {"0 q", "0 k", "0 v"}) EXPECT_EQ(found[equal], "inf") << equal;
  for (const char* other : {"0 o", "0 down", "1 q", "null head"})
    EXPECT_LT(found[other], 60) << other;
  const CompletedProcess text = run_vernier(
      {"layers", path("without_rotary.onnx"), "--reference", path("fused.onnx"), "--samples", "2"});
  EXPECT_THAT(text.out, HasSubstr("By layer and projection"));
  EXPECT_THAT(text.out, HasSubstr("next token  KL "));
}

TEST_F(DecoderCommand, layers_of_a_quantized_model_show_every_projection) {
  const std::filesystem::path folder = shared_data("lm");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no folder of large models";
  for (const char* file : {"model.int4.onnx", "model.int8.onnx"}) {
    const CompletedProcess outcome = run_vernier(
        {"layers", (folder / file).string(), "--reference", (folder / "model.onnx").string(),
         "--input-data", (folder / "tokens.npz").string(), "--at", "first,last,worst", "--samples",
         "2", "-f", "json"});
    expect_valid_json("layers", outcome.out);
    const auto result = nlohmann::json::parse(outcome.out);
    std::map<std::string, int> kinds;
    for (const auto& row : result["projections"]) ++kinds[row["projection"]];
    const std::map<std::string, int> expected = {
        {"embedding", 1}, {"norm", 9}, {"q", 4},  {"k", 4},    {"v", 4},
        {"o", 4},         {"gate", 4}, {"up", 4}, {"down", 4}, {"head", 1}};
    EXPECT_EQ(kinds, expected) << file;
    EXPECT_GT(result["kl_mean"], 0) << file;
  }
}

// A live model names its caches in its own way: they are paired in their order.
TEST_F(DecoderCommand, layers_run_at_the_worst_token_beside_a_live_model) {
  const std::filesystem::path folder = shared_data("lm");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no folder of large models";
  if (!std::filesystem::exists(VERNIER_TORCH2_PYTHON))
    GTEST_SKIP() << "no PyTorch 2: scripts/setup.sh torch2";
  const CompletedProcess outcome = run_vernier(
      {"layers", (folder / "model.onnx").string(), "--reference", "hf:" + (folder / "hf").string(),
       "--task", "text-generation", "--input-data", (folder / "tokens.npz").string(), "--at",
       "first,worst", "--samples", "2", "--python", VERNIER_TORCH2_PYTHON, "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  expect_valid_json("layers", outcome.out);
}

// Of a decoder neither zeros nor ones are a mask, and caches have names of their own.
TEST_F(DecoderCommand, check_compares_it_with_the_live_model) {
  const std::filesystem::path folder = shared_data("lm");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no folder of large models";
  if (!std::filesystem::exists(VERNIER_TORCH2_PYTHON))
    GTEST_SKIP() << "no PyTorch 2: scripts/setup.sh torch2";
  const CompletedProcess outcome =
      run_vernier({"check", (folder / "model.onnx").string(), "--reference",
                   "hf:" + (folder / "hf").string(), "--python", VERNIER_TORCH2_PYTHON});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

// The figures that the files' makers have, on every CPU where they do not depend on it.
TEST(DecoderFigures, of_a_real_model_equal_those_that_are_known) {
  const std::filesystem::path folder = shared_data("lm");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no folder of large models";
  const auto expected = nlohmann::json::parse(read_text((folder / "expected.json").string()));
  const CompletedProcess outcome =
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

// Of dynamic int8 in exact arithmetic, with 8 sequences in a run.
TEST(DecoderFigures, of_int8_in_exact_arithmetic_do_not_depend_on_the_cpu) {
  const std::filesystem::path folder = shared_data("lm");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no folder of large models";
  const CompletedProcess outcome =
      run_vernier({"eval", (folder / "model.int8.onnx").string(), "--reference",
                   (folder / "model.onnx").string(), "--task", "text-generation", "--dataset",
                   (folder / "tokens.npz").string(), "--batch", "8", "--exact", "-f", "json"});
  const auto found = nlohmann::json::parse(outcome.out);
  std::map<std::string, double> figures;
  for (const auto& metric : found["metrics"]) figures[metric["name"]] = metric["candidate"];
  EXPECT_NEAR(figures.at("perplexity"), 42.1204, 5e-3);
  EXPECT_NEAR(figures.at("kl_mean"), 0.002460, 5e-5);
  EXPECT_FALSE(found.contains("arithmetic"));
}

}  // namespace
}  // namespace vernier::testing
