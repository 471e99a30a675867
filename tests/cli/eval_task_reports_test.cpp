#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/data/small_images.h"
#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using testing::expect_golden;
using testing::expect_valid_json;
using ::testing::HasSubstr;
using testing::run_vernier;

// A model that gives back its input, of this type and shape, plus a number for each channel.
std::string save_adding(const std::filesystem::path& path, const Tensor& change,
                        const std::vector<Dim>& shape) {
  GraphBuilder graph;
  graph.input("x", change.dtype, shape)
      .output("y", change.dtype, shape)
      .weight(change)
      .node("Add", {"x", change.name}, {"y"});
  graph.model().save(path);
  return path;
}

// Rows of two numbers, and models that add to them: the same bytes on every processor.
class EvalRows : public ::testing::Test {
 protected:
  EvalRows() {
    const std::vector<float> rows = {4, 1, 4, 2, 5, 1, 1, 4, 2, 4, 1, 5, 3, 2.5f, 2, 3};
    write_npz(folder_ / "rows.npz",
              {tensor_of<float>("input", DType::f32, {8, 2}, rows),
               tensor_of<std::int64_t>("label", DType::i64, {8}, {0, 0, 0, 1, 1, 1, 0, 1})});
    model("reference.onnx", {0, 0});
    model("classification.onnx", {0, 1});
    model("features.onnx", {-3.5f, 0});
  }
  void model(const std::string& name, const std::vector<float>& change) {
    save_adding(folder_ / name, tensor_of<float>("change", DType::f32, {2}, change),
                {{-1, "N"}, {2, ""}});
  }
  CompletedProcess eval(const std::string& task, std::vector<std::string> more) {
    more.insert(more.begin(), {"eval", "--task", task, "--dataset", "rows.npz", "--k", "2"});
    return run_vernier(more, folder_.path());
  }

  TemporaryDirectory folder_;
};

TEST_F(EvalRows, every_task_and_format_has_its_report) {
  const std::map<std::string, std::string> tasks = {{"classification", "image-classification"},
                                                    {"features", "image-feature-extraction"}};
  for (const auto& [name, task] : tasks)
    for (const std::string format : {"text", "md", "json"}) {
      const CompletedProcess outcome =
          eval(task, {"-m", name + ".onnx", "--reference", "reference.onnx", "-f", format});
      expect_golden("eval_" + name + "." + (format == "text" ? "txt" : format), outcome.out);
      // Eight samples can tell neither drop from chance.
      EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
      if (format == "json") expect_valid_json("task", outcome.out);
    }
}

TEST_F(EvalRows, a_reference_alone_has_its_own_column) {
  const CompletedProcess outcome =
      eval("image-classification", {"--mode", "reference", "-m", "reference.onnx"});
  expect_golden("eval_reference.txt", outcome.out);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(EvalRows, labels_that_the_model_does_not_have_are_left_out) {
  write_npz(folder_ / "rows.npz",
            {tensor_of<float>("input", DType::f32, {3, 2}, {1, 0, 0, 1, 0, 1}),
             tensor_of<std::int64_t>("label", DType::i64, {3}, {0, 7, 1})});
  const CompletedProcess outcome = eval("image-classification", {"-m", "reference.onnx"});
  EXPECT_THAT(outcome.out, HasSubstr("unknown labels  1"));
  EXPECT_THAT(outcome.out, HasSubstr("samples         2"));
  expect_error(eval("image-classification", {"-m", "reference.onnx", "--max-bad", "0"}),
               "its label 7 is none of the model's");
}

// Two images of 4x2 pixels whose brightest channel is the label, but for one pixel; what is
// labelled 255 is to be ignored.
class EvalSegmentation : public ::testing::Test {
 protected:
  EvalSegmentation() {
    const std::string red("\xf0\x10\x20", 3), green("\x10\xf0\x20", 3), blue("\x10\x20\xf0", 3);
    write("a", red + red + green + green + red + red + green + green, {0, 0, 1, 1, 0, 255, 1, 1});
    write("b", blue + blue + blue + red + blue + blue + red + red, {2, 2, 2, 0, 2, 2, 1, 0});
  }
  void write(const std::string& name, const std::string& pixels, const std::vector<int>& labels) {
    write_text(folder_ / ("data/images/" + name + ".ppm"), "P6 4 2 255\n" + pixels);
    write_text(folder_ / ("data/labels/" + name + ".pgm"),
               "P5 4 2 255\n" + std::string(labels.begin(), labels.end()));
  }
  std::string model(const std::string& name, const std::vector<float>& change) {
    return save_adding(folder_ / name, tensor_of<float>("change", DType::f32, {1, 3, 1, 1}, change),
                       {{-1, "N"}, {3, ""}, {-1, "H"}, {-1, "W"}});
  }
  CompletedProcess eval(std::vector<std::string> more) {
    more.insert(more.begin(), {"eval", "--task", "image-segmentation", "--dataset", "data", "-m",
                               "candidate.onnx"});
    return run_vernier(more, folder_.path());
  }

  TemporaryDirectory folder_;
  std::string reference_ = model("reference.onnx", {0, 0, 0});
  std::string candidate_ = model("candidate.onnx", {0, 0, 0.95f});
};

TEST_F(EvalSegmentation, maps_of_labels_score_pixels_of_both_models) {
  const std::vector<std::string> both = {"--reference", reference_, "--ignore-label", "255"};
  const CompletedProcess text = eval(both);
  expect_golden("eval_segmentation.txt", text.out);
  EXPECT_EQ(text.exit_code, 1) << text.err;
  auto arguments = both;
  arguments.insert(arguments.end(), {"-f", "json", "--fail-if", "changed_share>0"});
  const CompletedProcess json = eval(arguments);
  expect_valid_json("task", json.out);
  EXPECT_THAT(json.out, HasSubstr("\"ignored_pixels\": 1"));
  EXPECT_THAT(json.out, HasSubstr("\"metric\": \"changed_share\",\n        \"value\": 0.6875"));
}

TEST_F(EvalSegmentation, labels_are_resized_and_cropped_with_their_images) {
  const CompletedProcess outcome = eval({"--image-size", "8x16", "--interpolation", "nearest",
                                         "--center-crop", "8", "--fail-if", "overall_accuracy<1"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST_F(EvalSegmentation, a_dataset_of_classes_has_no_maps) {
  expect_error(run_vernier({"eval", "--task", "image-segmentation", "--dataset",
                            mnist + "mnist_labelled.npz", "-m", mnist + "mnist_cnn.onnx"}),
               "has a map of labels or token ids");
}

TEST(EvalSequences, token_ids_score_against_those_of_an_array) {
  const TemporaryDirectory folder;
  const auto ids = [](const std::string& name, const std::vector<std::int64_t>& values) {
    return tensor_of<std::int64_t>(name, DType::i64, {2, 6}, values);
  };
  write_npz(folder / "data.npz", {ids("input", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -1}),
                                  ids("label", {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 0})});
  save_adding(folder / "next.onnx", tensor_of<std::int64_t>("one", DType::i64, {1}, {1}),
              {{-1, "N"}, {-1, "T"}});
  save_adding(folder / "same.onnx", tensor_of<std::int64_t>("zero", DType::i64, {1}, {0}),
              {{-1, "N"}, {-1, "T"}});
  const auto eval_ids = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"eval", "--dataset", "data.npz", "--ignore-label", "0"});
    return run_vernier(more, folder.path());
  };
  const CompletedProcess outcome = eval_ids({"--task", "translation", "-m", "next.onnx"});
  expect_golden("eval_translation.txt", outcome.out);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const CompletedProcess both =
      eval_ids({"--task", "text-generation", "-m", "same.onnx", "--reference", "next.onnx"});
  EXPECT_EQ(both.exit_code, 1) << both.err;
  EXPECT_THAT(both.out, HasSubstr("changed_share  1"));
}

}  // namespace
}  // namespace vernier
