#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "tests/cli/run.h"
#include "tests/data/digits.h"
#include "tests/data/small_images.h"
#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/npz.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using ::testing::ContainsRegex;
using testing::expect_error;
using testing::expect_valid_json;
using ::testing::HasSubstr;
using testing::run_vernier;

CompletedProcess eval(const std::string& task, const std::string& model,
                      std::vector<std::string> more) {
  more.insert(more.begin(), {"eval", "-m", mnist + model, "--task", task});
  return run_vernier(more);
}
CompletedProcess classify(const std::string& model, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--dataset", mnist_labelled});
  return eval("image-classification", model, more);
}
CompletedProcess embed(const std::string& model, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--dataset", mnist_labelled});
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
  const CompletedProcess ten = embed(
      "mnist_vit.onnx", exactly({{"knn_top1_accuracy", "94.4"}, {"knn_top5_accuracy", "98.4"}}));
  EXPECT_EQ(ten.exit_code, 0) << ten.out << ten.err;
  auto arguments = exactly({{"knn_top1_accuracy", "95.1"}, {"knn_top5_accuracy", "97.5"}});
  arguments.insert(arguments.end(), {"--k", "5"});
  const CompletedProcess five = embed("mnist_vit.onnx", arguments);
  EXPECT_EQ(five.exit_code, 0) << five.out << five.err;
}

TEST(EvalTask, the_report_says_how_images_were_prepared_and_what_was_scored) {
  const CompletedProcess outcome = classify("mnist_cnn.onnx", {"--samples", "4", "--batch", "2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("preprocessing  times 0.00392157\n"));
  EXPECT_THAT(outcome.out, HasSubstr("output         logits\n"));
  const CompletedProcess json = classify("mnist_cnn.onnx", {"--samples", "4", "-f", "json"});
  EXPECT_THAT(json.out, HasSubstr("\"preprocessing\": \"times 0.00392157\""));
}

TEST(EvalTask, inputs_that_are_ready_refuse_preprocessing) {
  const TemporaryDirectory folder;
  NpzReader digits(mnist_labelled);
  Tensor input = convert(digits.read("input"), DType::f32);
  input.name = "input";
  write_npz(folder / "ready.npz", std::vector<Tensor>{input, digits.read("label")});
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--samples", "4", "--dataset", folder / "ready.npz"});
    return eval("image-classification", "mnist_cnn.onnx", more);
  };
  EXPECT_LT(run({}).exit_code, 2) << run({}).err;
  expect_error(run({"--mean", "0.5"}), "holds inputs that are ready");
}

TEST(EvalTask, pytorch_has_the_same_figures_alone_and_beside_its_export) {
  if (torch_version().empty()) GTEST_SKIP() << "built without libtorch";
  auto arguments = exactly({{"knn_top1_accuracy", "94.4"}, {"knn_top5_accuracy", "98.4"}});
  arguments.insert(arguments.end(), {"--mode", "reference", "-f", "json"});
  const CompletedProcess alone = embed("mnist_vit.pt", arguments);
  EXPECT_EQ(alone.exit_code, 0) << alone.out << alone.err;
  expect_valid_json("task", alone.out);
  EXPECT_THAT(alone.out, HasSubstr("\"candidate\": null,\n      \"reference\": 94.4"));
  const CompletedProcess both = embed("mnist_vit.onnx", {"--reference", mnist + "mnist_vit.pt"});
  EXPECT_EQ(both.exit_code, 0) << both.out << both.err;
  EXPECT_THAT(both.out, HasSubstr("knn_top1_accuracy    94.4000    94.4000  +0.0000"));
}

TEST(EvalTask, int8_is_judged_beside_float) {
  std::vector<std::string> both = {"--reference", mnist + "mnist_cnn.onnx", "--exact"};
  const CompletedProcess loose = classify("mnist_cnn.int8.onnx", both);
  EXPECT_THAT(loose.out, HasSubstr("(int8)"));
  EXPECT_EQ(loose.exit_code, 0) << loose.out << loose.err;
  both.insert(both.end(), {"--verdict", "0.1", "--two-sided"});
  const CompletedProcess strict = classify("mnist_cnn.int8.onnx", both);
  // The interval of this delta holds 0: more samples would decide.
  EXPECT_THAT(strict.out, HasSubstr("INCONCLUSIVE: top1_accuracy_delta 0.4 > 0.1"));
  EXPECT_THAT(strict.out, HasSubstr("1000 samples can show such a top1_accuracy_delta by chance"));
  EXPECT_EQ(strict.exit_code, 3) << strict.err;
  const CompletedProcess features = embed(
      "mnist_vit.int8.onnx", {"--reference", mnist + "mnist_vit.onnx", "--exact", "--fail-if",
                              "neighbour_overlap<0.85", "--fail-if", "rank_correlation<0.99"});
  EXPECT_EQ(features.exit_code, 0) << features.out << features.err;
}

TEST(EvalTask, every_precision_of_the_classifier_keeps_its_figures) {
  EXPECT_EQ(classify("mnist_cnn.onnx", exactly({{"top1_accuracy", "94.8"}})).exit_code, 0);
  const CompletedProcess half = classify(
      "mnist_cnn.onnx",
      {"--precision", "fp16", "--reference", mnist + "mnist_cnn.onnx", "--verdict", "0.1"});
  EXPECT_EQ(half.exit_code, 0) << half.out << half.err;
  EXPECT_THAT(half.out, HasSubstr("(fp16)"));
  auto exact = exactly({{"top1_accuracy", "95.2"}});
  exact.emplace_back("--exact");
  EXPECT_EQ(classify("mnist_cnn.int8.onnx", exact).exit_code, 0);
}

TEST(EvalTask, images_in_folders_and_parquet_give_the_figures_of_the_array) {
  const TemporaryDirectory folder;
  const LabelledDigits digits;
  digits.write_folder(folder / "digits/test", digits.size());
  digits.write_parquet(folder / "digits.parquet", digits.size());
  for (const std::vector<std::string>& dataset :
       {std::vector<std::string>{folder / "digits", "--split", "test"},
        {folder / "digits.parquet"}}) {
    auto arguments = exactly({{"knn_top1_accuracy", "94.4"}, {"knn_top5_accuracy", "98.4"}});
    arguments.insert(arguments.end(), {"--batch", "16", "--dataset"});
    arguments.insert(arguments.end(), dataset.begin(), dataset.end());
    const CompletedProcess outcome = eval("image-feature-extraction", "mnist_vit.onnx", arguments);
    EXPECT_EQ(outcome.exit_code, 0) << dataset[0] << outcome.out << outcome.err;
  }
}

TEST(EvalTask, another_split_can_be_the_bank) {
  const TemporaryDirectory folder;
  const Tensor images = NpzReader(mnist_labelled).read("input"),
               labels = NpzReader(mnist_labelled).read("label");
  const auto part = [](const Tensor& all, const std::string& name, std::int64_t begin,
                       std::int64_t count) {
    const std::size_t row = all.bytes.size() / all.shape[0];
    Tensor rows = all;
    rows.name = name;
    rows.shape[0] = count;
    rows.bytes.assign(all.bytes.begin() + begin * row, all.bytes.begin() + (begin + count) * row);
    return rows;
  };
  write_npz(folder / "x.npz", {part(images, "x_train", 0, 300), part(labels, "y_train", 0, 300),
                               part(images, "x_test", 300, 100), part(labels, "y_test", 300, 100)});
  const CompletedProcess outcome =
      eval("image-feature-extraction", "mnist_vit.onnx",
           {"--dataset", folder / "x.npz", "--split", "test", "--bank-split", "train",
            "--temperature", "0.07", "--batch", "10", "--fail-if", "knn_top1_accuracy<80"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("bank.split +train"));
  EXPECT_THAT(outcome.out, ContainsRegex("samples +100 "));
}

TEST(EvalTask, a_bank_must_have_the_same_classes) {
  const TemporaryDirectory folder;
  const LabelledDigits digits;
  digits.write_folder(folder / "train", 12);
  digits.write_folder(folder / "test", 40);
  const std::string path = folder.path();
  expect_error(eval("image-feature-extraction", "mnist_vit.onnx",
                    {"--dataset", path, "--split", "test", "--bank-split", "train"}),
               "labels mean different things");
}

// Examples that cannot be used, each kind of them.
TEST(EvalTask, bad_examples_are_counted_and_limited) {
  const TemporaryDirectory folder;
  const LabelledDigits digits;
  digits.write_folder(folder / "digits", 40);
  write_text(folder / "digits/3/damaged.png", "not an image");
  const std::vector<std::string> arguments = {"--dataset", folder / "digits", "-f", "json"};
  const CompletedProcess outcome = eval("image-classification", "mnist_cnn.onnx", arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\"unreadable_images\": 1"));
  EXPECT_THAT(outcome.out, HasSubstr("1 of 41 examples left out: their images cannot be read; the "
                                     "first: [image] 3/damaged.png"));
  expect_error(eval("image-classification", "mnist_cnn.onnx",
                    {"--dataset", folder / "digits", "--max-bad", "0"}),
               "--max-bad is 0");
  const CompletedProcess few = eval("image-classification", "mnist_cnn.onnx",
                                    {"--dataset", folder / "digits", "--samples", "3"});
  EXPECT_THAT(few.out, HasSubstr("of its classes have no sample here"));
}

TEST(EvalTask, a_dataset_of_other_classes_needs_a_mapping) {
  const TemporaryDirectory folder;
  const LabelledDigits digits;
  for (std::int64_t i = 0; i < 30; ++i)
    if (digits.label(i) == 3 || digits.label(i) == 7)
      write_text(folder / fmt::format("{}/{}.png", digits.label(i) == 3 ? "three" : "seven", i),
                 digits.png(i));
  const std::string images = folder.path();
  expect_error(eval("image-classification", "mnist_cnn.onnx", {"--dataset", images}),
               "the dataset has 2 classes, the model 10; say which is which with --label-mapping");
  const TemporaryDirectory other;
  write_text(other / "mapping.json", R"({"three": 3, "seven": 7})");
  const CompletedProcess outcome =
      eval("image-classification", "mnist_cnn.onnx",
           {"--dataset", images, "--label-mapping", other / "mapping.json", "--fail-if",
            "top1_accuracy<70", "--fail-if", "three:accuracy<50"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

TEST(EvalTask, a_batch_gives_the_same_answers) {
  const auto answers = [](const CompletedProcess& outcome) {
    return outcome.out.substr(outcome.out.find("  metric"));
  };
  EXPECT_EQ(answers(classify("mnist_cnn.onnx", {"--batch", "32"})),
            answers(classify("mnist_cnn.onnx")));
}

TEST(EvalTask, labels_off_by_one_are_called_chance) {
  const TemporaryDirectory folder;
  const NpzReader archive(mnist_labelled);
  Tensor labels = archive.read("label");
  for (std::int64_t& label : elements<std::int64_t>(labels)) label = (label + 1) % 10;
  NpzWriter writer(folder / "shifted.npz");
  writer.add("input", archive.read("input"));
  writer.add("label", labels);
  writer.finish();
  const CompletedProcess outcome = eval("image-classification", "mnist_cnn.onnx",
                                        {"--dataset", folder / "shifted.npz", "--k", "1"});
  EXPECT_THAT(outcome.out, HasSubstr("is not above chance"));
}

TEST(EvalTask, the_folder_of_an_export_brings_its_reference) {
  if (torch_version().empty()) GTEST_SKIP() << "built without libtorch";
  const TemporaryDirectory folder;
  for (const char* ending : {"onnx", "pt"})
    std::filesystem::copy_file(mnist + "mnist_cnn." + ending,
                               folder / fmt::format("model.{}", ending));
  write_text(folder / "model.json", "{}");
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"eval", "-m", folder.path(), "--task", "image-classification",
                               "--dataset", mnist_labelled, "--samples", "20"});
    return run_vernier(more);
  };
  const CompletedProcess both = run({"--fail-if", "flipped>0"});
  EXPECT_EQ(both.exit_code, 0) << both.out << both.err;
  EXPECT_THAT(both.out, ContainsRegex("reference +model.pt"));
  EXPECT_THAT(run({"--mode", "reference", "-f", "json"}).out, HasSubstr("\"libtorch\""));
}

TEST(EvalTask, recorded_outputs_are_a_reference) {
  const TemporaryDirectory folder;
  const std::string recorded = folder / "recorded.npz";
  ASSERT_EQ(run_vernier({"record", mnist + "mnist_cnn.onnx", "--dataset", mnist_labelled,
                         "--samples", "20", "-o", recorded})
                .exit_code,
            0);
  const CompletedProcess outcome = classify(
      "mnist_cnn.onnx", {"--reference", recorded, "--samples", "20", "--fail-if", "flipped>0"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, ContainsRegex("reference +recorded.npz"));
  expect_error(run_vernier({"eval", "--mode", "reference", "-m", recorded, "--task",
                            "image-classification", "--dataset", mnist_labelled}),
               "score it with vernier score");
  std::ofstream(folder / "mapping.json") << R"({"1": 1, "2": 2, "3": 3})";
  expect_error(classify("mnist_cnn.onnx", {"--reference", recorded, "--samples", "20",
                                           "--label-mapping", folder / "mapping.json"}),
               "are left out for their labels");
  expect_error(
      eval("image-feature-extraction", "mnist_vit.onnx",
           {"--dataset", mnist_labelled, "--reference", recorded, "--bank-split", "train"}),
      "a recorded reference holds no bank");
}

TEST(EvalTask, timings_go_to_stderr) {
  const CompletedProcess outcome = classify("mnist_cnn.onnx", {"--samples", "20", "--timings"});
  EXPECT_THAT(outcome.err, HasSubstr("% inside the runtimes"));
  EXPECT_EQ(outcome.out, classify("mnist_cnn.onnx", {"--samples", "20"}).out);
}

TEST(EvalTask, what_cannot_be_scored_is_a_one_line_error) {
  expect_error(eval("image-classification", "mnist_cnn.onnx", {}), "pass --dataset");
  expect_error(eval("fortune-telling", "mnist_cnn.onnx", {"--dataset", mnist_labelled}),
               "expected one of image-feature-extraction, image-classification");
  expect_error(eval("fill-mask", "mnist_cnn.onnx", {"--dataset", mnist_labelled}),
               "no text can be fed");
  expect_error(run_vernier({"eval", "-m", mnist + "mnist_cnn.onnx", "--mode", "task"}),
               "--task is missing");
  expect_error(classify("mnist_vit.onnx"), "expects logits [samples,classes]");
  expect_error(classify("mnist_cnn.onnx", {"--pooling", "cls"}), "leave them out");
  expect_error(embed("mnist_vit.onnx", {"--pooling", "gap"}), "choose another --pooling");
  expect_error(embed("mnist_vit.onnx", {"--samples", "1"}), "2");
  expect_error(embed("mnist_vit.onnx", {"--fail-if", "bleu<1"}), "no metric 'bleu'");
  expect_error(classify("mnist_cnn.pt"), "must be an .onnx");
  expect_error(classify("mnist_cnn.onnx", {"--ignore-label", "3"}), "leave it out");
  expect_error(classify("mnist_cnn.onnx", {"--sample-index", "3"}),
               "--sample-index does not go with --mode task");
  expect_error(classify("mnist_cnn.onnx", {"--mode", "compare", "--timings"}),
               "--timings does not go with --mode compare");
  expect_error(
      eval("image-classification", "mnist_cnn.onnx", {"--dataset", mnist + "mnist_inputs.npz"}),
      "none of 64 examples has a label");
  expect_error(classify("mnist_cnn.onnx", {"--mode", "reference", "--precision", "fp16"}),
               "leave out --reference and --precision");
}

}  // namespace
}  // namespace vernier
