#include <gtest/gtest.h>

#include <filesystem>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/data/random.h"
#include "vernier/tensor/npz.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using testing::run_program;
using testing::run_vernier;

struct Record : ::testing::Test {
  CompletedProcess record(const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {"record", "-o", out};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_vernier(command);
  }
  // A model of two inputs: ids, indices into a table of 50 rows, and x.
  std::string two_inputs() const {
    const std::string path = folder / "two.onnx";
    GraphBuilder()
        .input("ids", DType::i64, {{-1, "batch"}, {4, ""}})
        .input("x", DType::f32, {{-1, "batch"}, {2, ""}})
        .weight(make_tensor("table", DType::f32, {50, 2}))
        .node("Gather", {"table", "ids"}, {"y"})
        .node("Identity", {"x"}, {"z"})
        .output("y", DType::f32, {{-1, ""}, {4, ""}, {2, ""}})
        .output("z", DType::f32, {{-1, ""}, {2, ""}})
        .model()
        .save(path);
    return path;
  }
  Tensor array(const std::string& name) const { return NpzReader(out).read(name); }

  TemporaryDirectory folder;
  std::string out = folder / "out.npz";
};

TEST_F(Record, outputs_are_recorded_by_default) {
  const CompletedProcess outcome = record({mnist_cnn, "--samples", "3"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, out + ": 1 array of 3 samples\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(NpzReader(out).names(), std::vector<std::string>{"logits"});
  EXPECT_EQ(array("logits").shape, (Shape{3, 1, 10}));
}

TEST_F(Record, inputs_are_those_that_numpy_draws) {
  ASSERT_EQ(record({mnist_cnn, "--tensors", "inputs", "--samples", "2", "--seed", "7"}).exit_code,
            0);
  const InputDraw image = {.name = "input", .shape = {1, 1, 28, 28}};
  Tensor expected = draw(image, {.seed = 7, .sample = 0});
  const Tensor second = draw(image, {.seed = 7, .sample = 1});
  expected.bytes.insert(expected.bytes.end(), second.bytes.begin(), second.bytes.end());
  EXPECT_EQ(array("input").bytes, expected.bytes);
}

TEST_F(Record, one_sample_can_be_chosen_by_its_index) {
  ASSERT_EQ(record({mnist_cnn, "--tensors", "inputs", "--sample-index", "5"}).exit_code, 0);
  EXPECT_EQ(array("input").bytes,
            draw({.name = "input", .shape = {1, 1, 28, 28}}, {.sample = 5}).bytes);
}

TEST_F(Record, all_tensors_come_in_execution_order_with_the_inputs) {
  ASSERT_EQ(record({mnist_cnn, "--tensors", "all"}).exit_code, 0);
  EXPECT_EQ(NpzReader(out).names().front(), "input");
  EXPECT_EQ(NpzReader(out).names().back(), "logits");
}

TEST_F(Record, groups_and_patterns_can_be_joined) {
  ASSERT_EQ(record({mnist_cnn, "--tensors", "inputs,/layer2/*Add_output_0"}).exit_code, 0);
  EXPECT_EQ(NpzReader(out).names(),
            (std::vector<std::string>{"input", "/layer2/layer2.0/Add_output_0"}));
}

TEST_F(Record, shapes_ranges_and_index_ranges_are_honoured) {
  const std::string model = two_inputs();
  ASSERT_EQ(record({model, "--tensors", "inputs", "--shape", "x=3x2", "--input-range", "x=5:6"})
                .exit_code,
            0);
  EXPECT_EQ(array("ids").shape, (Shape{1, 3, 4}));
  EXPECT_EQ(
      array("ids").bytes,
      draw({.name = "ids", .dtype = DType::i64, .shape = {3, 4}, .range = {0, 50}}, {}).bytes);
  EXPECT_EQ(array("x").bytes,
            draw({.name = "x", .shape = {3, 2}, .range = {5, 6}}, {.input = 1}).bytes);
}

TEST_F(Record, floats_can_be_drawn_from_a_normal_distribution) {
  ASSERT_EQ(record({mnist_cnn, "--tensors", "inputs", "--input-dist", "normal"}).exit_code, 0);
  EXPECT_EQ(array("input").bytes,
            draw({.shape = {1, 1, 28, 28}, .distribution = Distribution::normal}, {}).bytes);
}

TEST_F(Record, a_bare_shape_is_for_the_only_input) {
  ASSERT_EQ(record({mnist_cnn, "--shape", "4x1x28x28"}).exit_code, 0);
  EXPECT_EQ(array("logits").shape, (Shape{1, 4, 10}));
}

TEST_F(Record, inputs_from_a_file_are_all_used_and_casts_are_warned_of) {
  const std::string data = write_npz(folder / "in.npz", {ramp("input", {5, 1, 28, 28})});
  const CompletedProcess outcome = record({mnist_cnn, "--input-data", data});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(array("logits").shape, (Shape{5, 1, 10}));

  Tensor bytes = make_tensor("input", DType::u8, {5, 1, 28, 28});
  write_npz(data, {bytes});
  const CompletedProcess cast = record({mnist_cnn, "--input-data", data, "--samples", "2"});
  EXPECT_EQ(cast.exit_code, 0);
  EXPECT_NE(cast.err.find("warning: [npz] " + data + ": 'input' is uint8"), std::string::npos);
  EXPECT_EQ(array("logits").shape, (Shape{2, 1, 10}));
}

TEST_F(Record, a_recording_can_be_the_input_of_another_model) {
  ASSERT_EQ(record({mnist_cnn, "--tensors", "inputs,outputs", "--samples", "3"}).exit_code, 0);
  const std::string again = folder / "again.npz";
  const CompletedProcess outcome =
      run_vernier({"record", mnist_cnn, "-o", again, "--input-data", out});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(NpzReader(again).read("logits"), array("logits"));
}

TEST_F(Record, leaves_of_a_torchscript_model_are_recorded) {
  if (torch_version().empty()) GTEST_SKIP() << "this build has no libtorch";
  const CompletedProcess outcome = record(
      {VERNIER_FIXTURES "/mnist/mnist_cnn.pt", "--tensors", "leaves", "--shape", "1x1x28x28"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(NpzReader(out).has("layer1.0.relu_1"));
  EXPECT_NE(outcome.err.find("warning: left out: "), std::string::npos) << outcome.err;
}

TEST_F(Record, a_bar_is_drawn_on_a_terminal_only) {
  if (run_program({"script", "-qec", "true", "/dev/null"}).exit_code != 0)
    GTEST_SKIP() << "script(1) cannot open a terminal";
  const CompletedProcess outcome = run_program(
      {"script", "-qec", std::string(VERNIER_BINARY) + " record " + mnist_cnn + " -o " + out,
       "/dev/null"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("record  [>"), std::string::npos) << outcome.out;
}

// In the foreground, timeout signals the program alone: once, where a group would be signalled
// twice.
TEST_F(Record, ctrl_c_keeps_the_finished_samples) {
  CompletedProcess outcome;
  for (const char* seconds : {"2", "10", "40"}) {  // a busy machine starts late
    outcome = run_program({"timeout", "--foreground", "--preserve-status", "-s", "INT", seconds,
                           VERNIER_BINARY, "record", mnist_cnn, "-o", out, "--tensors", "inputs",
                           "--samples", "100000000"});
    if (std::filesystem::exists(out)) break;
  }
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_NE(outcome.err.find("interrupted: kept the samples"), std::string::npos) << outcome.err;
  EXPECT_GT(NpzReader(out).header("input").shape[0], 0);
}

TEST_F(Record, nothing_is_written_when_it_cannot_be_done) {
  expect_error(record({mnist_cnn, "--tensors", "nothing*"}), "no tensor matches the selection");
  expect_error(record({mnist_cnn, "--tensors", "leaves"}), "only a PyTorch model has leaves");
  expect_error(record({folder / "none.onnx"}), "none.onnx: no such file or folder");
  expect_error(record({write_npz(folder / "r.npz", {ramp("x", {1})})}), "is recorded already");
  expect_error(record({mnist_cnn, "--shape", "input=1x3x28x28"}), "model expects [batch,1,28,28]");
  expect_error(record({mnist_cnn, "--shape", "1x1x28xfour"}),
               "expected dimensions of at least 1, like 1x3x224x224");
  expect_error(record({mnist_cnn, "--shape", "image=1"}),
               "no input 'image'; its inputs are 'input'");
  expect_error(record({mnist_cnn, "--input-range", "0-255"}), "expected LOW:HIGH");
  expect_error(record({mnist_cnn, "--input-range", "255:0"}), "range 255:0 is not one of float32");
  expect_error(record({mnist_cnn, "--samples", "2", "--sample-index", "1"}),
               "--samples does not go with --sample-index");
  expect_error(record({mnist_cnn, "--input-data", folder / "none.npz"}), "none.npz");
  expect_error(record({mnist_cnn, "--input-data", folder / "r.npz"}),
               "has no array for input 'input'");
  expect_error(record({mnist_cnn, "--input-data", folder / "r.npz", "--input-dist", "normal"}),
               "--input-data does not go with --input-range");
  expect_error(record({mnist_cnn, "--ep", "abacus"}), "abacus");
  expect_error(record({mnist_cnn, "--ep-option", "fast"}), "expected KEY=VALUE");
  expect_error(record({two_inputs(), "--shape", "1x4"}), "the model has 2 inputs; say which one");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Record, more_samples_than_a_file_holds_is_an_error) {
  const std::string data = write_npz(folder / "in.npz", {ramp("input", {5, 1, 28, 28})});
  expect_error(record({mnist_cnn, "--input-data", data, "--samples", "6"}), "5 samples available");
  expect_error(record({mnist_cnn, "--input-data", data, "--sample-index", "5"}),
               "5 samples available");
}

TEST_F(Record, an_output_folder_that_is_not_there_is_named) {
  expect_error(run_vernier({"record", mnist_cnn, "-o", folder / "no/where.npz"}), "where.npz");
}

}  // namespace
}  // namespace vernier
