#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/model_builder.h"
#include "tests/shared_data.h"
#include "tests/temporary_directory.h"
#include "vernier/runtime/torch_runner.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using ::testing::AllOf;
using testing::CompletedProcess;
using testing::expect_error;
using testing::expect_valid_json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_in_terminal;
using testing::run_vernier;

// y = 2 * x, with names and shapes to choose.
GraphBuilder doubling(const std::string& x, const std::string& y, const std::vector<Dim>& shape) {
  GraphBuilder builder;
  builder.input(x, DType::f32, shape).output(y, DType::f32, shape);
  builder.weight(tensor_of<float>("two", DType::f32, {1}, {2}));
  builder.node("Mul", {x, "two"}, {y});
  return builder;
}

// y = x * rate, a number that is an input too.
GraphBuilder rated() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {4}}).input("rate", DType::i64, {});
  builder.output("y", DType::f32, {{1}, {4}});
  builder.node("Cast", {"rate"}, {"factor"}, {int_attribute("to", 1)});
  builder.node("Mul", {"x", "factor"}, {"y"});
  return builder;
}

// next = keep * state + x
GraphBuilder recurrent(float keep) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}}).input("state", DType::f32, {{1}});
  builder.output("next", DType::f32, {{1}});
  builder.weight(tensor_of<float>("keep", DType::f32, {1}, {keep}));
  builder.node("Mul", {"state", "keep"}, {"kept"}).node("Add", {"kept", "x"}, {"next"});
  return builder;
}

class IoMappingCommand : public ::testing::Test {
 protected:
  std::string save(const std::string& name, const GraphBuilder& builder) {
    const std::string path = folder_ / name;
    builder.model().save(path);
    return path;
  }

  // eval of c.onnx against r.onnx, both of which are there.
  CompletedProcess compare(const std::vector<std::string>& more) { return run("eval", more); }
  CompletedProcess run(const std::string& command, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {command, folder_ / "c.onnx", "--reference",
                                          folder_ / "r.onnx"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  }

  TemporaryDirectory folder_;
};

TEST_F(IoMappingCommand, names_that_differ_pair_by_position_with_a_warning_in_every_format) {
  save("r.onnx", doubling("a", "b", {{1}, {4}}));
  save("c.onnx", doubling("x", "y", {{1}, {4}}));
  const CompletedProcess text = compare({});
  EXPECT_EQ(text.exit_code, 0) << text.out << text.err;
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("confirm with --map-input a=x"), HasSubstr("--map-output b=y")));
  const CompletedProcess json = compare({"-f", "json"});
  expect_valid_json("compare", json.out);
  EXPECT_THAT(json.out,
              AllOf(HasSubstr("confirm with --map-input a=x"), HasSubstr("--map-output b=y")));
}

TEST_F(IoMappingCommand, a_mapping_is_in_the_report_and_leaves_nothing_to_warn_of) {
  save("r.onnx", doubling("a", "b", {{1}, {4}}));
  save("c.onnx", doubling("x", "y", {{1}, {4}}));
  const std::vector<std::string> mapped = {"--map-input", "a=x", "--map-output", "b=y"};
  const CompletedProcess text = compare(mapped);
  EXPECT_EQ(text.exit_code, 0) << text.out << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("map input   a=x"), Not(HasSubstr("same place"))));
  for (const char* command : {"layers", "debug"})
    EXPECT_THAT(run(command, mapped).err, Not(HasSubstr("--map-input"))) << command;
  EXPECT_EQ(run("layers", mapped).exit_code, 0) << run("layers", mapped).out;
  expect_error(compare({"--map-input", "a=z"}),
               "--map-input: there is no input 'z' in the candidate; there are x");
  expect_error(compare({"--map-output", "c=y"}), "no output 'c' in the reference; there are b");
  expect_error(compare({"--map-input", "a"}), "expected REFERENCE=CANDIDATE");
}

TEST_F(IoMappingCommand, an_input_of_one_side_is_set) {
  save("r.onnx", rated());
  save("c.onnx", doubling("x", "y", {{1}, {4}}));
  expect_error(compare({}), "'rate' has no counterpart");
  const CompletedProcess same = compare({"--set", "rate=2", "--no-weights"});
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  EXPECT_THAT(same.out, HasSubstr("rate=2"));
  EXPECT_EQ(compare({"--set", "rate=3", "--no-weights"}).exit_code, 1);
  EXPECT_EQ(run("layers", {"--set", "rate=2"}).exit_code, 0);
  expect_error(compare({"--set", "rate=2.5"}), "the input is int64");
  expect_error(compare({"--set", "rte=2"}), "did you mean rate?");
}

TEST_F(IoMappingCommand, an_input_that_only_the_candidate_has_is_set_or_warned_of) {
  save("r.onnx", doubling("x", "y", {{1}, {4}}));
  save("c.onnx", rated());
  EXPECT_THAT(compare({"--no-weights"}).out, HasSubstr("'rate' is only in the candidate"));
  const CompletedProcess outcome = compare({"--set", "rate=2", "--no-weights"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, Not(HasSubstr("only in the candidate")));
}

TEST_F(IoMappingCommand, a_batch_axis_that_one_side_lacks_is_squeezed_and_said) {
  save("r.onnx", doubling("x", "y", {{1}, {3}, {4}}));
  save("c.onnx", doubling("x", "y", {{3}, {4}}));
  const CompletedProcess text = compare({});
  EXPECT_EQ(text.exit_code, 0) << text.out << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("axes of size 1 are added"),
                              HasSubstr("output y is compared after squeeze [1,3,4] to [3,4]")));
  const CompletedProcess json = compare({"-f", "json"});
  expect_valid_json("compare", json.out);
  EXPECT_THAT(json.out, HasSubstr("\"layout\": \"squeeze [1,3,4] to [3,4]\""));
  const CompletedProcess layers = run("layers", {});
  EXPECT_EQ(layers.exit_code, 0) << layers.out << layers.err;
  EXPECT_THAT(layers.out, HasSubstr("axes of size 1 are added"));
}

TEST_F(IoMappingCommand, sizes_come_from_the_side_that_says_them) {
  save("r.onnx", doubling("x", "y", {{2}, {5}}));
  save("c.onnx", doubling("x", "y", {{-1, "batch"}, {-1, "length"}}));
  const CompletedProcess outcome = compare({});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("y [2,5]"));
  EXPECT_EQ(run("layers", {}).exit_code, 0);
  expect_error(compare({"--shape", "2x6"}), "pass --shape x=2x5");
}

TEST_F(IoMappingCommand, recordings_of_rows_are_a_reference_for_outputs_with_a_batch_axis) {
  const std::string candidate = save("c.onnx", doubling("x", "y", {{1}, {10}}));
  const std::string inputs = write_npz(folder_ / "inputs.npz", {ramp("x", {50, 10})});
  Tensor recorded = ramp("y", {50, 10});
  for (float& value : elements<float>(recorded)) value *= 2;
  const std::string outputs = write_npz(folder_ / "outputs.npz", {recorded});
  const CompletedProcess outcome =
      run_vernier({"eval", candidate, "--reference", outputs, "--input-data", inputs});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("samples    50"), HasSubstr("squeeze [10] to [1,10]")));
}

TEST_F(IoMappingCommand, a_shape_that_is_too_small_for_the_model_is_answered_by_a_flag_to_copy) {
  GraphBuilder builder;
  builder.input("ids", DType::f32, {{-1, "batch"}, {-1, "length"}});
  builder.output("y", DType::f32, {{-1, ""}, {-1, ""}});
  builder.weight(tensor_of<float>("w", DType::f32, {24, 1}, std::vector<float>(24, 1)));
  builder.node("MatMul", {"ids", "w"}, {"y"});
  save("c.onnx", builder);
  save("r.onnx", builder);
  expect_error(compare({}), "--shape ids=1x");
  EXPECT_EQ(compare({"--shape", "ids=1x24"}).exit_code, 0);
}

TEST_F(IoMappingCommand, ids_stay_integers_for_torchscript_without_a_sidecar) {
  if (torch_version().empty()) GTEST_SKIP() << "built without libtorch";
  const std::string tokens = VERNIER_FIXTURES "/torch/tokens.pt";
  Tensor table;
  open_torch_runner({.path = tokens})->visit_parameters([&](const TensorView& parameter) {
    table = copy(parameter);
  });
  table.name = "table";
  GraphBuilder builder;
  builder.input("ids", DType::i64, {{1}, {4}}).input("mask", DType::i64, {{1}, {4}});
  builder.output("y", DType::f32, {{1}, {4}, {2}});
  builder.weight(table);
  builder.weight(tensor_of<std::int64_t>("axes", DType::i64, {1}, {-1}));
  builder.node("Gather", {"table", "ids"}, {"embedded"});
  builder.node("Cast", {"mask"}, {"real"}, {int_attribute("to", 1)});
  builder.node("Unsqueeze", {"real", "axes"}, {"column"})
      .node("Mul", {"embedded", "column"}, {"y"});
  const std::string candidate = save("c.onnx", builder);
  for (const char* command : {"eval", "layers"}) {
    const CompletedProcess outcome = run_vernier({command, candidate, "--reference", tokens});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  }
}

TEST_F(IoMappingCommand, state_is_fed_back_over_steps) {
  save("r.onnx", recurrent(1));
  save("c.onnx", recurrent(0.5F));
  const std::vector<std::string> sequence = {"--feedback",   "next=state", "--steps",   "3",
                                             "--set",        "x=1",        "--samples", "2",
                                             "--no-weights", "-f",         "json"};
  const CompletedProcess own = compare(sequence);
  EXPECT_EQ(own.exit_code, 1);
  expect_valid_json("compare", own.out);
  EXPECT_THAT(own.out, AllOf(HasSubstr("\"max_abs_diff_max\": 1.25"), HasSubstr("\"samples\": 2"),
                             HasSubstr("\"steps\": 3"), HasSubstr("\"step\": 2")));
  std::vector<std::string> taught = sequence;
  taught.push_back("--teacher");
  EXPECT_THAT(compare(taught).out, HasSubstr("\"max_abs_diff_max\": 1.0"));
  taught.resize(taught.size() - 3);  // as text
  EXPECT_THAT(compare(taught).out, HasSubstr("worst step (sqnr_db)    2 of sample 0, 7.60"));
}

TEST_F(IoMappingCommand, feedback_that_cannot_be_is_a_one_line_error) {
  save("r.onnx", recurrent(1));
  save("c.onnx", recurrent(1));
  expect_error(compare({"--feedback", "nxt=state"}), "no output 'nxt' in either model");
  expect_error(compare({"--feedback", "next"}), "expected OUTPUT=INPUT");
  expect_error(compare({"--teacher"}), "--feedback");
  expect_error(compare({"--feedback", "next=state", "--steps", "0"}), "at least 1");
  expect_error(compare({"--task", "image-classification", "--steps", "3"}),
               "--steps does not go with --mode task");
}

TEST_F(IoMappingCommand, a_file_that_holds_no_whole_sequence_is_an_error) {
  save("r.onnx", recurrent(1));
  save("c.onnx", recurrent(1));
  const std::string data = folder_ / "data.npz";
  ASSERT_EQ(run_vernier(
                {"record", folder_ / "c.onnx", "-o", data, "--tensors", "inputs", "--samples", "4"})
                .exit_code,
            0);
  expect_error(compare({"--feedback", "next=state", "--steps", "5", "--input-data", data}),
               "data.npz: holds 4 runs, a sequence has 5 steps; pass --steps 4");
}

TEST_F(IoMappingCommand, a_recording_holds_constants_and_arrays_of_other_names_are_compared) {
  const std::string model = save("c.onnx", rated());
  const std::string tensors = folder_ / "t.npz";
  const CompletedProcess recorded =
      run_vernier({"record", model, "-o", tensors, "--tensors", "inputs,outputs", "--set", "rate=3",
                   "--samples", "2"});
  EXPECT_EQ(recorded.exit_code, 0) << recorded.err;
  Tensor rates = make_tensor("tempo", DType::i64, {2, 1});
  std::ranges::fill(elements<std::int64_t>(rates), 3);
  const std::string other = write_npz(folder_ / "o.npz", {rates});
  const CompletedProcess outcome =
      run_vernier({"diff", other, tensors, "--map-output", "tempo=rate", "--allow-missing",
                   "--fail-if", "max_abs_diff>0"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  expect_error(run_vernier({"diff", other, tensors, "--map-output", "tempo=rte"}),
               "no array 'rte' in the candidate");
  expect_error(
      run_vernier({"record", model, "-o", tensors, "--set", "rte=3"}),
      "--set: there is no input 'rte' in the model; there are x, rate; did you mean rate?");
}

// The columns of each line, without escapes; what a progress bar overwrites are lines too.
std::vector<std::pair<std::string, std::int64_t>> widths(const std::string& shown) {
  static const std::regex escape("\x1b\\[[0-9;?]*[A-Za-z]");
  std::vector<std::pair<std::string, std::int64_t>> lines;
  std::string text = std::regex_replace(shown, escape, "");
  std::ranges::replace(text, '\r', '\n');
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.emplace_back(line,
                       std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }));
  return lines;
}

TEST_F(IoMappingCommand, no_line_on_a_terminal_is_wider_than_it) {
  save("r.onnx", doubling("an_input_with_a_long_name", "an_output_with_a_long_name", {{1}, {4}}));
  save("c.onnx", doubling("the_same_under_another_name", "the_output_of_another_name", {{4}}));
  const std::vector<std::string> command = {"eval", folder_ / "c.onnx", "--reference",
                                            folder_ / "r.onnx", "--verbose"};
  for (const int columns : {40, 60, 100}) {
    const CompletedProcess outcome = run_in_terminal(command, columns);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
    EXPECT_THAT(outcome.out, HasSubstr("PASS"));
    for (const auto& [line, width] : widths(outcome.out)) EXPECT_LE(width, columns) << line;
  }
}

TEST_F(IoMappingCommand, what_onnx_runtime_warns_of_is_counted_and_shown_after_the_result) {
  GraphBuilder builder = doubling("x", "y", {{1}, {4}});
  builder.weight(tensor_of<float>("unused", DType::f32, {1}, {1}));
  save("r.onnx", builder);
  save("c.onnx", builder);
  EXPECT_EQ(compare({}).err, "");
  const CompletedProcess verbose = compare({"--verbose"});
  EXPECT_EQ(verbose.out, compare({}).out);
  EXPECT_THAT(verbose.err,
              AllOf(HasSubstr("onnxruntime: "), HasSubstr("unused"), HasSubstr(" times)")));
  EXPECT_THAT(
      run_in_terminal({"eval", folder_ / "c.onnx", "--reference", folder_ / "r.onnx"}, 80).out,
      AllOf(HasSubstr("warnings; --verbose shows them"), Not(HasSubstr("unused"))));
}

TEST(Silero, exports_agree_over_a_sequence) {
  const std::string folder = shared_data("silero").string() + "/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no silero in shared data";
  const CompletedProcess outcome = run_vernier(
      {"eval", folder + "silero_vad_op18_ifless.onnx", "--reference", folder + "silero_vad.onnx",
       "--set", "sr=16000", "--feedback", "stateN=state", "--steps", "8", "--samples", "2"});
  EXPECT_NE(outcome.exit_code, 2) << outcome.err;
  EXPECT_NE(outcome.exit_code, 1) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("worst step"));
}

}  // namespace
}  // namespace vernier
