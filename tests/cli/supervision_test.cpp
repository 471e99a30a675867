#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "tests/small_graphs.h"
#include "tests/temporary_directory.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::read_text;
using testing::run_program;
using testing::run_vernier;

// Its body goes on for ever.
Model endless() {
  GraphBuilder body;
  body.input("i", DType::i64, {}).input("go_on", DType::boolean, {}).input("v", DType::f32, {{2}});
  body.node("Identity", {"go_on"}, {"still"}).node("Neg", {"v"}, {"w"});
  body.output("still", DType::boolean, {}).output("w", DType::f32, {{2}});
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}});
  builder.weight(tensor_of<bool>("yes", DType::boolean, {}, {true}));
  builder.node("Loop", {"", "yes", "x"}, {"y"}, {graph_attribute("body", body)});
  builder.output("y", DType::f32, {{2}});
  return builder.model();
}

// The same with something in it that can be quantized.
Model quantizable_endless() {
  Model model = endless();
  const Tensor weight = tensor_of<float>("weight", DType::f32, {2, 2}, {1, 2, 3, 4});
  *model.graph().add_initializer() = make_tensor_proto(weight);
  auto& node = *model.graph().add_node();
  node.set_op_type("MatMul");
  node.add_input("y");
  node.add_input("weight");
  node.add_output("z");
  model.graph().mutable_output(0)->set_name("z");
  return model;
}

// Takes two gigabytes.
Model large() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}});
  builder.weight(tensor_of<std::int64_t>("shape", DType::i64, {2}, {50000, 10000}));
  builder.node("Expand", {"x", "shape"}, {"a"}).node("Neg", {"a"}, {"b"});
  builder.node("ReduceMax", {"b"}, {"y"}).output("y");
  return builder.model();
}

class Supervision : public ::testing::Test {
 protected:
  std::string saved(const Model& model, const std::string& name) {
    model.save(folder_ / name);
    return folder_ / name;
  }
  // After three seconds, in which also a busy machine has begun, and what it says then. One that
  // goes on for a minute after that is killed.
  static CompletedProcess signalled(const std::string& signal,
                                    const std::vector<std::string>& command,
                                    const std::string& seconds = "3") {
    std::vector<std::string> whole = {"timeout", "--foreground", "--preserve-status",
                                      "-s",      signal,         "-k",
                                      "60",      seconds,        VERNIER_BINARY};
    whole.insert(whole.end(), command.begin(), command.end());
    return run_program(whole);
  }

  // After the first samples, which a busy machine may take longer for.
  static CompletedProcess signalled_while_measuring(const std::string& signal,
                                                    const std::vector<std::string>& command) {
    for (const char* seconds : {"3", "12"})
      if (CompletedProcess outcome = signalled(signal, command, seconds); !outcome.out.empty())
        return outcome;
    return signalled(signal, command, "48");
  }

  TemporaryDirectory folder_;
};

#ifdef __x86_64__  // other processors give a result for the smallest integer divided by -1
TEST_F(Supervision, a_crash_is_one_line_that_names_the_node) {
  GraphBuilder builder;
  builder.input("a", DType::i64, {{1}}).input("b", DType::i64, {{1}});
  builder.node("Neg", {"a"}, {"c"}).node("Neg", {"c"}, {"d"});
  builder.node("Div", {"d", "b"}, {"e"}).node("Abs", {"e"}, {"y"}).output("y");
  const std::string model = saved(builder.model(), "div.onnx");
  const auto number = [](const char* name, std::int64_t value) {
    return tensor_of<std::int64_t>(name, DType::i64, {1, 1}, {value});
  };
  NpzWriter inputs(folder_ / "inputs.npz");
  inputs.add("a", number("a", std::numeric_limits<std::int64_t>::min()));
  inputs.add("b", number("b", -1));
  inputs.finish();
  std::ofstream(folder_ / "out.npz") << "what was there";
  expect_error(run_vernier({"record", model, "--input-data", folder_ / "inputs.npz", "-o",
                            folder_ / "out.npz"}),
               "div.onnx: ONNX Runtime crashed (arithmetic fault: an integer division "
               "that has no result) while it ran node 'node_3' (Div); ");
  EXPECT_EQ(read_text(folder_ / "out.npz"), "what was there");
  std::ofstream(folder_ / "out.json") << "what was there";
  expect_error(run_vernier({"eval", model, "--reference", model, "--input-data",
                            folder_ / "inputs.npz", "-o", folder_ / "out.json"}),
               "while it ran node 'node_3' (Div); ");
  EXPECT_EQ(read_text(folder_ / "out.json"), "what was there");
}
#endif

TEST_F(Supervision, a_process_that_is_killed_says_that_memory_is_the_likely_reason) {
  const std::string script = "\"$0\" record " + mnist_cnn + " -o " + (folder_ / "a.npz").string() +
                             " --samples 100000000 & sleep 0.5; kill -9 $(ps -o pid= --ppid $!); "
                             "wait $!";
  const CompletedProcess outcome = run_program({"sh", "-c", script, VERNIER_BINARY});
  expect_error(outcome, "[memory] the process was killed");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.npz"));
}

TEST_F(Supervision, a_reader_that_has_had_enough_is_no_crash) {
  const std::string script =
      "\"$0\" inspect --tensors " + mnist_cnn + " | true; echo ${PIPESTATUS[0]}";
  const CompletedProcess outcome = run_program({"bash", "-c", script, VERNIER_BINARY});
  EXPECT_EQ(outcome.out, "141\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Supervision, a_time_limit_ends_a_loop_that_does_not) {
  const std::string model = saved(endless(), "endless.onnx");
  expect_error(run_vernier({"record", model, "-o", folder_ / "a.npz", "--timeout", "1"}),
               "endless.onnx; raise --timeout");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.npz"));
}

TEST_F(Supervision, a_memory_limit_ends_what_takes_more) {
  const std::string model = saved(large(), "large.onnx");
  expect_error(run_vernier({"record", model, "-o", folder_ / "a.npz", "--memory-limit", "0.25"}),
               "large.onnx; raise --memory-limit");
}

TEST_F(Supervision, limits_are_positive_numbers) {
  for (const char* limit : {"--timeout", "--memory-limit"})
    for (const char* value : {"-1", "0", "abc", "nan", "inf"})
      expect_error(run_vernier({"inspect", mnist_cnn, limit, value}),
                   std::string("expected a number above 0, found ") + value);
}

TEST_F(Supervision, one_signal_ends_a_loop_that_does_not) {
  const std::string model = saved(endless(), "endless.onnx");
  const CompletedProcess outcome = signalled("INT", {"record", model, "-o", folder_ / "a.npz"});
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("interrupted"));
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.npz"));
}

TEST_F(Supervision, one_signal_ends_every_command_whatever_it_runs) {
  const std::string model = saved(endless(), "endless.onnx");
  const std::string out = folder_ / "out.onnx";
  const std::vector<std::vector<std::string>> commands = {
      {"eval", model, "--reference", model, "-o", folder_ / "out.json"},
      {"layers", model, "--reference", model, "-o", folder_ / "out.json"},
      {"check", model, "-o", folder_ / "out.json"},
      {"diagnose", model, model, "-o", folder_ / "out.json"},
      {"quantize", saved(quantizable_endless(), "gemm.onnx"), "--synthetic", "-o", out}};
  for (const auto& command : commands) {
    const CompletedProcess outcome = signalled("INT", command);
    EXPECT_EQ(outcome.exit_code, 130) << command[0] << ": " << outcome.err;
    EXPECT_LE(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(out));
  }
}

// `script` with the program as $0, the model as $1 and the data as $2; `until_mapped` waits until
// the process that $! supervises has the data in its memory.
CompletedProcess while_mapped(const std::string& script, const std::string& model,
                              const std::string& data) {
  const std::string functions =
      "until_mapped() { for i in $(seq 1000); do "
      "grep -q \"$2\" /proc/$(ps -o pid= --ppid $! | tr -d ' ')/maps 2>/dev/null && return; "
      "kill -0 $! || return; sleep 0.05; done; }; ";
  return run_program({"sh", "-c", functions + script, VERNIER_BINARY, model, data});
}

TEST_F(Supervision, data_that_is_cut_off_while_it_is_mapped_is_one_line) {
  GraphBuilder builder;
  constexpr std::int64_t count = 1 << 20;
  builder.input("x", DType::f32, {{count}});
  builder.weight(make_tensor("w", DType::f32, {count})).node("Add", {"x", "w"}, {"y"}).output("y");
  Model model = builder.model();
  auto& weight = *model.graph().mutable_initializer(0);
  weight.clear_raw_data();
  set_external_data(weight, {"weights.bin", 0, count * 4});
  std::ofstream(folder_ / "outside.onnx", std::ios::binary) << model.proto().SerializeAsString();
  const std::string data = folder_ / "weights.bin";
  std::ofstream(data).close();
  std::filesystem::resize_file(data, count * 4);
  const CompletedProcess outcome = while_mapped(
      "\"$0\" record \"$1\" -o \"$1.npz\" --samples 100000000 & "
      "until_mapped \"$1\" \"$2\"; : > \"$2\"; wait $!",
      folder_ / "outside.onnx", data);
  // While it is read, which ends the process, between two runs, or before ONNX Runtime opens it.
  const auto says = [&](const char* part) { return outcome.err.find(part) != std::string::npos; };
  expect_error(outcome, says("[file]")        ? "weights.bin: was cut off while it was in use"
                        : says("Deserialize") ? "outside.onnx: Deserialize tensor w failed"
                                              : "outside.onnx: ONNX Runtime crashed (bus error: a "
                                                "file that is mapped was cut off)");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "outside.onnx.npz"));
}

TEST_F(Supervision, an_interrupted_run_says_so_and_is_inconclusive) {
  for (const auto& [signal, code] : {std::pair("INT", 130), std::pair("TERM", 143)}) {
    const CompletedProcess outcome = signalled_while_measuring(
        signal, {"eval", mnist_int8, "--reference", mnist_cnn, "--samples", "1000000", "--inputs",
                 "uniform", "-f", "json"});
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("\"interrupted\": true"));
    EXPECT_THAT(outcome.out, HasSubstr("\"outcome\": \"inconclusive\""));
    testing::expect_valid_json("compare", outcome.out);
  }
}

TEST_F(Supervision, an_interrupted_run_says_so_in_every_report) {
  const auto interrupted = [](const char* format) {
    const CompletedProcess outcome =
        signalled_while_measuring("INT", {"eval", mnist_int8, "--reference", mnist_cnn, "--samples",
                                          "1000000", "--inputs", "uniform", "-f", format});
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("interrupted")) << format;
    return outcome.out;
  };
  for (const char* format : {"text", "md", "html"})
    EXPECT_THAT(interrupted(format), ::testing::AnyOf(HasSubstr("INCONCLUSIVE"),
                                                      HasSubstr("\"outcome\": \"inconclusive\"")))
        << format;
  for (const char* format : {"csv", "junit", "model-explorer"}) interrupted(format);
}

TEST_F(Supervision, an_interrupted_task_is_inconclusive) {
  constexpr std::int64_t count = 200'000;
  NpzWriter data(folder_ / "many.npz");
  data.add("input", make_tensor("input", DType::u8, {count, 1, 28, 28}));
  data.add("label", make_tensor("label", DType::i64, {count}));
  data.finish();
  const CompletedProcess outcome =
      signalled_while_measuring("INT", {"eval", mnist_int8, "--reference", mnist_cnn, "--task",
                                        "image-classification", "--dataset", folder_ / "many.npz",
                                        "--samples", "all", "--threads", "1", "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\"interrupted\": true"));
  EXPECT_THAT(outcome.out, HasSubstr("\"outcome\": \"inconclusive\""));
}

TEST_F(Supervision, what_is_no_file_is_refused_at_once) {
  const std::string pipe = folder_ / "pipe.onnx";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const char* command : {"check", "inspect"})
    EXPECT_THAT(run_vernier({command, pipe, "--timeout", "20"}).exit_code, ::testing::AnyOf(1, 2));
  const CompletedProcess outcome = run_vernier({"check", pipe, "--timeout", "20"});
  EXPECT_THAT(outcome.out + outcome.err, HasSubstr("not a file"));
}

TEST_F(Supervision, changes_no_result) {
  const std::vector<std::string> command = {VERNIER_BINARY, "eval", mnist_int8, "--reference",
                                            mnist_cnn,      "-f",   "json"};
  std::vector<std::string> alone = {"env", "VERNIER_UNSUPERVISED=1"};
  alone.insert(alone.end(), command.begin(), command.end());
  EXPECT_EQ(run_program(command).out, run_program(alone).out);
}

}  // namespace
}  // namespace vernier
