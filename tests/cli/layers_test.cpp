#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/oracle/numpy.h"
#include "tests/temporary_directory.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/permute.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using testing::expect_golden;
using testing::expect_valid_json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_text;
using testing::run_vernier;

// Values that those of no other frequency are like.
Tensor waves(const std::string& name, Shape shape, double frequency, double error = 0) {
  Tensor tensor = make_tensor(name, DType::f32, std::move(shape));
  double place = 0;
  for (float& element : elements<float>(tensor)) {
    element = static_cast<float>(std::sin(frequency * place) + error * std::cos(place));
    ++place;
  }
  return tensor;
}

// Two recordings with every kind of row.
class RecordedLayersCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    write_npz(folder / "reference.npz",
              {waves("exact", {2, 3, 5}, 0.3), waves("close", {2, 3, 50}, 0.7),
               waves("off", {2, 3, 50}, 1.1), waves("absent", {2, 7}, 1.3),
               waves("turned", {2, 4, 4, 4}, 1.7), waves("longer", {2, 9}, 1.9),
               waves("broken", {2, 8}, 2.3), waves("narrow", {2, 300}, 2.9),
               waves("after", {2, 33}, 3.1)});
    Tensor broken = waves("broken", {2, 8}, 2.3);
    elements<float>(broken)[11] = NAN;
    elements<float>(broken)[2] = INFINITY;
    const std::vector<int> turn = {0, 2, 1, 3};
    write_npz(
        folder / "candidate.npz",
        {waves("close", {2, 3, 50}, 0.7, 1e-5), waves("exact", {2, 3, 5}, 0.3),
         waves("off", {2, 3, 50}, 1.1, 1e-2),
         permute_axes(waves("turned", {2, 4, 4, 4}, 1.7), turn), waves("longer", {2, 10}, 1.9),
         broken, convert(waves("narrow", {2, 300}, 2.9), DType::f16),
         waves("after", {2, 33}, 3.1, 1e-3)});
  }

  CompletedProcess layers(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"layers", "--reference", "reference.npz", "--candidate",
                                          "candidate.npz"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments, folder.path());
  }

  TemporaryDirectory folder;
};

TEST_F(RecordedLayersCommand, reports_are_as_they_were) {
  const CompletedProcess text = layers({});
  EXPECT_EQ(text.exit_code, 1) << text.err;
  expect_golden("layers.txt", text.out);
  expect_golden("layers.md", layers({"-f", "md"}).out);
  expect_golden("layers.json", layers({"-f", "json"}).out);
  expect_valid_json("layers", layers({"-f", "json"}).out);
}

TEST_F(RecordedLayersCommand, numpy_says_the_same_to_the_byte) {
  const auto python = oracle::python_with("numpy");
  ASSERT_TRUE(python);
  const CompletedProcess expected = testing::run_program(
      {*python, VERNIER_ORACLES "/layers_recorded.py", "reference.npz", "candidate.npz", version()},
      folder.path());
  EXPECT_EQ(layers({"-f", "json"}).out, expected.out) << expected.err;
}

TEST_F(RecordedLayersCommand, recordings_that_agree_pass) {
  std::filesystem::copy(folder / "reference.npz", folder / "candidate.npz",
                        std::filesystem::copy_options::overwrite_existing);
  const CompletedProcess outcome = layers({});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no drift: 0 of 9 layers exceed"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("Around the origin")));
}

TEST_F(RecordedLayersCommand, a_recording_is_not_compared_with_a_model) {
  expect_error(run_vernier({"layers", "candidate.npz", "--reference", mnist + "mnist_cnn.onnx"},
                           folder.path()),
               "compared with recorded ones");
}

TEST_F(RecordedLayersCommand, rows_shown_can_be_chosen) {
  const CompletedProcess outcome = layers({"--around", "0", "--top", "1", "--tolerance", "5e-3"});
  EXPECT_THAT(outcome.out, HasSubstr("drift origin: off: max_abs_diff"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("close")));
}

class LayersCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    if (torch_version().empty()) GTEST_SKIP() << "this build has no libtorch";
  }
  static CompletedProcess layers(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"layers", mnist + "mnist_cnn.onnx", "--reference",
                                          mnist + "mnist_cnn.pt"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vernier(arguments);
  }
};

TEST_F(LayersCommand, an_export_passes_and_its_json_is_the_same_every_time) {
  const CompletedProcess outcome = layers({"-f", "json", "--truth", "fp64", "--samples", "2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_valid_json("layers", outcome.out);
  EXPECT_EQ(outcome.out, layers({"-f", "json", "--truth", "fp64", "--samples", "2"}).out);
}

TEST_F(LayersCommand, inputs_are_normal_unless_told_otherwise) {
  EXPECT_THAT(layers({}).out, HasSubstr("random normal, seed 42"));
  EXPECT_THAT(layers({"--input-dist", "uniform"}).out, HasSubstr("random uniform, seed 42"));
  EXPECT_THAT(layers({"--input-range", "0:255", "--tolerance", "1"}).out,
              HasSubstr("random uniform, seed 42"));
  EXPECT_THAT(layers({"--input-data", mnist + "mnist_inputs.npz", "--samples", "2"}).out,
              HasSubstr("2 (mnist_inputs.npz)"));
}

TEST_F(LayersCommand, the_optimised_graph_can_be_validated) {
  const CompletedProcess outcome = layers({"--optimize", "extended"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("optimize   extended"));
}

TEST_F(LayersCommand, the_folder_of_an_export_knows_its_reference) {
  const TemporaryDirectory folder;
  std::filesystem::copy(mnist + "mnist_cnn.onnx", folder / "model.onnx");
  std::filesystem::copy(mnist + "mnist_cnn.pt", folder / "model.pt");
  std::ofstream(folder / "model.json") << "{}";
  EXPECT_EQ(run_vernier({"layers", folder.path()}).exit_code, 0);
}

TEST_F(LayersCommand, what_cannot_be_done_is_said_in_a_line) {
  expect_error(run_vernier({"layers", mnist + "mnist_cnn.onnx"}), "no reference; pass --reference");
  expect_error(run_vernier({"layers", mnist + "mnist_cnn.onnx", "--reference", "absent.pt"}),
               "absent.pt: no such file");
  expect_error(run_vernier({"layers", mnist + "mnist_cnn.onnx", "--reference",
                            mnist + "mnist_cnn.onnx", "--truth", "fp64"}),
               "only a PyTorch reference");
  expect_error(
      run_vernier({"layers", mnist + "mnist_cnn.pt", "--reference", mnist + "mnist_cnn.pt"}),
      "the candidate must be an .onnx model");
  expect_error(layers({"--tolerance", "-1"}), "--tolerance");
  expect_error(layers({"-o", "/absent/report.md"}), "create it first");
}

TEST(QuantizedLayersCommand, model_explorer_is_told_of_nodes) {
  const CompletedProcess outcome =
      run_vernier({"layers", mnist + "mnist_cnn.int8.onnx", "--reference", mnist + "mnist_cnn.onnx",
                   "--samples", "1", "-f", "model-explorer"});
  EXPECT_THAT(outcome.out, HasSubstr("\"/stem/Conv\": {"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("/stem/Conv_output_0")));
}

// Every layer of a quantized model exceeds 1e-4: its outputs tell whether that is too much.
TEST(QuantizedLayersCommand, are_judged_by_the_outputs_unless_a_tolerance_is_given) {
  const std::vector<std::string> command = {
      "layers",       mnist + "mnist_cnn.int8.onnx", "--reference", mnist + "mnist_cnn.float.onnx",
      "--input-data", mnist + "mnist_inputs.npz",    "--samples",   "4"};
  const CompletedProcess judged = run_vernier(command);
  EXPECT_EQ(judged.exit_code, 0) << judged.out;
  EXPECT_THAT(judged.out, HasSubstr("sqnr_db_mean<15"));
  EXPECT_THAT(judged.out, HasSubstr("drift origin"));
  std::vector<std::string> strict = command;
  strict.insert(strict.end(), {"--tolerance", "1e-4"});
  EXPECT_EQ(run_vernier(strict).exit_code, 1);
}

}  // namespace
}  // namespace vernier
