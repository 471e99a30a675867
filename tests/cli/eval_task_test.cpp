#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/data/small_images.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/tensor/npz.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using testing::expect_error;
using testing::expect_golden;
using testing::expect_valid_json;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::run_vernier;

const std::string mnist = VERNIER_FIXTURES "/mnist/";
const std::string labelled = mnist + "mnist_labelled.npz";

Outcome eval(const std::string& task, const std::string& model, std::vector<std::string> more) {
  more.insert(more.begin(), {"eval", "-m", mnist + model, "--task", task});
  return run_vernier(more);
}
Outcome classify(const std::string& model, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--dataset", labelled});
  return eval("image-classification", model, more);
}
Outcome embed(const std::string& model, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--dataset", labelled});
  return eval("image-feature-extraction", model, more);
}

// Passes only if the metrics are exactly these.
std::vector<std::string> exactly(const std::vector<std::pair<std::string, std::string>>& metrics) {
  std::vector<std::string> arguments;
  for (const auto& [name, value] : metrics)
    for (const char* sign : {"<", ">"}) {
      arguments.emplace_back("--fail-if");
      arguments.push_back(name + sign + value);
    }
  return arguments;
}

TEST(EvalTask, embeddings_of_the_digits_have_the_known_figures) {
  const Outcome ten =
      embed("mnist_vit.onnx", exactly({{"knn_top1", "94.4"}, {"knn_top5", "98.4"}}));
  EXPECT_EQ(ten.exit_code, 0) << ten.out << ten.err;
  auto arguments = exactly({{"knn_top1", "95.1"}, {"knn_top5", "97.5"}});
  arguments.insert(arguments.end(), {"--k", "5"});
  const Outcome five = embed("mnist_vit.onnx", arguments);
  EXPECT_EQ(five.exit_code, 0) << five.out << five.err;
}

TEST(EvalTask, pytorch_has_the_same_figures_alone_and_beside_its_export) {
  if (torch_version().empty()) GTEST_SKIP() << "built without libtorch";
  auto arguments = exactly({{"knn_top1", "94.4"}, {"knn_top5", "98.4"}});
  arguments.insert(arguments.end(), {"--mode", "reference", "-f", "json"});
  const Outcome alone = embed("mnist_vit.pt", arguments);
  EXPECT_EQ(alone.exit_code, 0) << alone.out << alone.err;
  expect_valid_json("evaluation", alone.out);
  EXPECT_THAT(alone.out, HasSubstr("\"candidate\": null,\n      \"reference\": 94.4"));
  const Outcome both = embed("mnist_vit.onnx", {"--reference", mnist + "mnist_vit.pt"});
  EXPECT_EQ(both.exit_code, 0) << both.out << both.err;
  EXPECT_THAT(both.out, HasSubstr("knn_top1    94.4000    94.4000  +0.0000"));
}

TEST(EvalTask, int8_is_judged_beside_float) {
  const std::vector<std::string> both = {"--reference", mnist + "mnist_cnn.onnx"};
  const Outcome text = classify("mnist_cnn.int8.onnx", both);
  expect_golden("eval_classification.txt", text.out);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  auto strict = both;
  strict.insert(strict.end(), {"--verdict", "0.1", "-f", "json"});
  const Outcome json = classify("mnist_cnn.int8.onnx", strict);
  expect_valid_json("evaluation", json.out);
  expect_golden("eval_classification.json", json.out);
  EXPECT_EQ(json.exit_code, 1);
}

TEST(EvalTask, a_batch_gives_the_same_answers) {
  EXPECT_EQ(classify("mnist_cnn.onnx", {"--batch", "32"}).out, classify("mnist_cnn.onnx").out);
}

TEST(EvalTask, labels_off_by_one_are_called_chance) {
  const TemporaryDirectory folder;
  const NpzReader archive(labelled);
  Tensor labels = archive.read("label");
  for (std::int64_t& label : elements<std::int64_t>(labels)) label = (label + 1) % 10;
  NpzWriter writer(folder / "shifted.npz");
  writer.add("input", archive.read("input"));
  writer.add("label", labels);
  writer.finish();
  const Outcome outcome = eval("image-classification", "mnist_cnn.onnx",
                               {"--dataset", folder / "shifted.npz", "--k", "1"});
  EXPECT_THAT(outcome.out, HasSubstr("is not above chance"));
}

TEST(EvalTask, timings_go_to_stderr) {
  const Outcome outcome = classify("mnist_cnn.onnx", {"--samples", "20", "--timings"});
  EXPECT_THAT(outcome.err, HasSubstr("% inside the runtimes"));
  EXPECT_EQ(outcome.out, classify("mnist_cnn.onnx", {"--samples", "20"}).out);
}

TEST(EvalTask, what_cannot_be_scored_is_a_one_line_error) {
  expect_error(eval("image-classification", "mnist_cnn.onnx", {}), "pass --dataset");
  expect_error(eval("fill-mask", "mnist_cnn.onnx", {"--dataset", labelled}),
               "expected one of image-feature-extraction, image-classification");
  expect_error(run_vernier({"eval", "-m", mnist + "mnist_cnn.onnx", "--mode", "task"}),
               "--task is missing");
  expect_error(classify("mnist_vit.onnx"), "expects logits [samples,classes]");
  expect_error(classify("mnist_cnn.onnx", {"--pooling", "cls"}), "leave them out");
  expect_error(embed("mnist_vit.onnx", {"--pooling", "gap"}), "choose another --pooling");
  expect_error(embed("mnist_vit.onnx", {"--samples", "1"}), "2");
  expect_error(embed("mnist_vit.onnx", {"--fail-if", "bleu<1"}), "no metric 'bleu'");
  expect_error(classify("mnist_cnn.pt"), "must be an .onnx");
  expect_error(classify("mnist_cnn.onnx", {"--mode", "reference", "--precision", "fp16"}),
               "leave out --reference and --precision");
}

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
  Outcome eval(std::vector<std::string> more) {
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
  const Outcome text = eval(both);
  expect_golden("eval_segmentation.txt", text.out);
  EXPECT_EQ(text.exit_code, 1) << text.err;
  auto arguments = both;
  arguments.insert(arguments.end(), {"-f", "json", "--fail-if", "changed_share>0"});
  const Outcome json = eval(arguments);
  expect_valid_json("evaluation", json.out);
  EXPECT_THAT(json.out, HasSubstr("\"ignored_pixels\": 1"));
  EXPECT_THAT(json.out, HasSubstr("changed_share 0.6875 > 0"));
}

TEST_F(EvalSegmentation, labels_are_resized_and_cropped_with_their_images) {
  const Outcome outcome = eval({"--image-size", "8x16", "--interpolation", "nearest",
                                "--center-crop", "8", "--fail-if", "overall_accuracy<1"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST_F(EvalSegmentation, a_dataset_of_classes_has_no_maps) {
  expect_error(run_vernier({"eval", "--task", "image-segmentation", "--dataset", labelled, "-m",
                            mnist + "mnist_cnn.onnx"}),
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
  const Outcome outcome = eval_ids({"--task", "translation", "-m", "next.onnx"});
  expect_golden("eval_translation.txt", outcome.out);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Outcome both =
      eval_ids({"--task", "text-generation", "-m", "same.onnx", "--reference", "next.onnx"});
  EXPECT_EQ(both.exit_code, 1) << both.err;
  EXPECT_THAT(both.out, HasSubstr("changed_share  1"));
}

}  // namespace
}  // namespace vernier
