#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run.h"
#include "tests/data/small_images.h"
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

}  // namespace
}  // namespace vernier
