#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_text;
using testing::run_vernier;

// A model, its quantized copy, inputs and a result, none of which may change.
class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy(mnist_cnn, model);
    fs::copy(mnist_int8, quantized);
    fs::copy(mnist_inputs, data);
    ASSERT_EQ(run_vernier({"eval", quantized, "--reference", model, "--samples", "2", "-o", result})
                  .exit_code,
              0);
  }

  // The command ends in an error that holds `said`, and no file is replaced or added.
  void expect_refused(const std::vector<std::string>& command, const std::string& said) {
    const auto state = [&] {
      std::string texts;
      for (const std::string& file : {model, quantized, data, result}) texts += read_text(file);
      return std::pair(texts, std::distance(fs::directory_iterator(folder.path()), {}));
    };
    const auto before = state();
    expect_error(run_vernier(command), said);
    EXPECT_TRUE(state() == before) << ::testing::PrintToString(command);
  }

  TemporaryDirectory folder;
  const std::string model = folder / "m.onnx", quantized = folder / "q.onnx",
                    data = folder / "x.npz", result = folder / "r.json", made = folder / "n.onnx";
};

TEST_F(Files, what_is_read_is_not_written_over) {
  const std::vector<std::string> eval = {"eval", quantized, "--reference", model};
  const auto with = [](std::vector<std::string> command, const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
    return command;
  };
  const std::string said = "would replace what ";
  expect_refused(with(eval, {"-o", quantized}), "-o would replace what MODEL reads");
  expect_refused(with(eval, {"-o", model}), said);
  expect_refused(with(eval, {"--input-data", data, "-o", data}), said);
  expect_refused(with(eval, {"--input-data", data, "--save-inputs", data}),
                 "--save-inputs would replace what --input-data reads");
  expect_refused(with(eval, {"-f", "json", "-o", (folder / "." / "q.onnx").string()}), said);
  expect_refused({"check", model, "-o", model}, said);
  expect_refused({"record", model, "--input-data", data, "-o", data}, said);
  expect_refused({"quantize", model, "--data", data, "-o", made, "--report", data}, said);
  expect_refused({"zoo", result, "-o", result}, said);
  expect_refused({"report", result, "-o", result}, said);
  expect_refused({"merge", result, "-o", result}, said);
}

TEST_F(Files, two_options_do_not_write_one_file) {
  const std::vector<std::string> quantize = {"quantize", model, "--data", data, "-o", made};
  for (const std::string& report : {made, std::string(folder / "n.float.onnx")}) {
    std::vector<std::string> command = quantize;
    command.insert(command.end(), {"--report", report});
    expect_refused(command, "would both write it");
  }
}

TEST_F(Files, a_folder_that_is_not_there_is_named_before_any_work) {
  const std::string there = folder / "none/x.npz", said = "no folder " + (folder / "none").string();
  expect_refused({"record", model, "-o", there}, said + "; create it first");
  expect_refused({"eval", quantized, "--reference", model, "--save-inputs", there}, said);
  expect_refused({"record", model, "-o", ""}, "-o is empty");
}

TEST_F(Files, a_recording_is_an_npz_or_an_empty_folder) {
  expect_refused({"record", model, "-o", folder / "existing.txt"}, "expected OUT.npz, or a folder");
  expect_refused({"record", model, "-o", folder.path()}, "the folder is not empty");
  expect_refused({"eval", quantized, "--reference", model, "--save-inputs", folder / "x.txt"},
                 "expected OUT.npz, or a folder");
}

TEST_F(Files, a_report_has_the_ending_of_a_format) {
  expect_refused({"eval", quantized, "--reference", model, "-o", folder / "x.pdf"},
                 "there is no format of that ending");
  expect_refused({"report", result, "-o", folder / "x.pdf"}, "there is no format of that ending");
  expect_refused({"report", result, "-o", folder / "x.txt"}, "ends in .html");
}

TEST(NothingCompared, is_no_pass) {
  const TemporaryDirectory folder;
  // An output with no element, as a detector has that finds nothing.
  GraphBuilder graph;
  graph.input("x", DType::f32, {{2}}).output("y");
  graph.weight(tensor_of<std::int64_t>("zero", DType::i64, {1}, {0}));
  graph.node("Slice", {"x", "zero", "zero"}, {"y"});
  graph.model().save(folder / "empty.onnx");
  const auto none =
      run_vernier({"eval", folder / "empty.onnx", "--reference", folder / "empty.onnx"});
  EXPECT_EQ(none.exit_code, 3) << none.out << none.err;
  EXPECT_THAT(none.out, HasSubstr("output y has no element in any sample"));
  EXPECT_THAT(none.out, Not(HasSubstr("zero in every sample")));
  const std::string empty = write_npz(folder / "e.npz", {ramp("x", {0, 3})});
  EXPECT_EQ(run_vernier({"diff", empty, empty, "--fail-if", "sqnr_db<300"}).exit_code, 1);
  expect_error(run_vernier({"eval", mnist_int8, "--reference", mnist_cnn, "--shape", "0x1x28x28"}),
               "--shape 0x1x28x28: expected dimensions of at least 1");
  expect_error(
      run_vernier({"check", mnist_int8, "--only", "missing-shapes", "--disable", "missing-shapes"}),
      "--disable leaves out every finding of --only");
}

}  // namespace
}  // namespace vernier
