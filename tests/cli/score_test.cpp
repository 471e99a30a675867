#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "tests/cli/run.h"
#include "tests/temporary_directory.h"
#include "vernier/tensor/npy.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using testing::expect_golden;
using testing::expect_valid_json;
using testing::read_text;
using testing::run_vernier;

const std::string features_file = VERNIER_FIXTURES "/mnist/mnist_features.npz";

Tensor integers(Shape shape, std::vector<std::int64_t> values) {
  Tensor tensor = make_tensor("x", DType::i64, std::move(shape));
  std::ranges::copy(values, elements<std::int64_t>(tensor).begin());
  return tensor;
}

class Score : public ::testing::Test {
 protected:
  void write_text(const std::string& name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
  }
  CompletedProcess score(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "score");
    return run_vernier(arguments, folder.path());
  }

  TemporaryDirectory folder;
};

TEST_F(Score, knn_of_the_digits_has_the_known_figures) {
  const CompletedProcess outcome =
      score({"knn", features_file + ":embedding", features_file + ":label"});
  expect_golden("score_knn.txt", outcome.out);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  const CompletedProcess five =
      score({"knn", features_file + ":embedding", features_file + ":label", "--k", "5", "--fail-if",
             "knn_top1_accuracy<95.1", "--fail-if", "knn_top5_accuracy<97.5", "--fail-if",
             "knn_top1_accuracy>95.1", "--fail-if", "knn_top5_accuracy>97.5"});
  EXPECT_EQ(five.exit_code, 0) << five.out;
}

TEST_F(Score, a_reference_is_scored_beside_the_candidate) {
  Tensor embedding = NpzReader(features_file).read("embedding");
  for (float& value : elements<float>(embedding)) value = std::round(value);
  write_npy(folder / "candidate.npy", embedding);
  const CompletedProcess text = score({"knn", "candidate.npy", features_file + ":label",
                                       "--reference", features_file + ":embedding"});
  expect_golden("score_knn_reference.txt", text.out);
  const CompletedProcess json = score({"knn", "candidate.npy", features_file + ":label",
                                       "--reference", features_file + ":embedding", "-f", "json"});
  expect_golden("score_knn_reference.json", json.out);
  expect_valid_json("task", json.out);
  EXPECT_EQ(json.exit_code, text.exit_code);
}

TEST_F(Score, a_bank_is_searched_instead_of_the_samples) {
  const CompletedProcess outcome =
      score({"knn", features_file + ":embedding", features_file + ":label", "--bank",
             features_file + ":embedding", "--bank-labels", features_file + ":label", "--k", "1",
             "--temperature", "0.07"});
  EXPECT_NE(outcome.out.find("knn_top1_accuracy   100.0000"), std::string::npos) << outcome.out;
}

TEST_F(Score, top_k_of_the_digits) {
  expect_golden(
      "score_top_k.md",
      score({"top-k", features_file + ":logits", features_file + ":label", "-f", "md"}).out);
}

TEST_F(Score, labels_off_by_one_are_called_chance) {
  Tensor labels = NpzReader(features_file).read("label");
  for (std::int64_t& label : elements<std::int64_t>(labels)) label = (label + 1) % 10;
  write_npy(folder / "labels.npy", labels);
  const CompletedProcess outcome =
      score({"top-k", features_file + ":logits", "labels.npy", "--k", "1"});
  EXPECT_NE(outcome.out.find("is not above chance"), std::string::npos) << outcome.out;
}

TEST_F(Score, miou_of_class_maps) {
  write_npy(folder / "predicted.npy", integers({2, 1, 4}, {0, 0, 1, 1, 2, 2, 2, 0}));
  write_npy(folder / "labels.npy", integers({2, 1, 4}, {0, 1, 1, 255, 2, 2, 2, 2}));
  const CompletedProcess outcome =
      score({"miou", "predicted.npy", "labels.npy", "--ignore-label", "255", "--classes", "4"});
  expect_golden("score_miou.txt", outcome.out);
}

TEST_F(Score, bleu_of_text_with_two_sets_of_targets) {
  write_text("predictions.txt",
             "The dog bit the man.\nIt wasn't surprising.\nThe man had just bitten him.\n");
  write_text("first.txt", "The dog bit the man.\nIt was not unexpected.\nThe man bit him first.\n");
  write_text("second.txt",
             "The dog had bit the man.\nNo one was surprised.\nThe man had bitten the dog.\n");
  expect_golden("score_bleu.txt",
                score({"bleu", "predictions.txt", "first.txt", "second.txt"}).out);
}

TEST_F(Score, bleu_of_token_ids) {
  write_npy(folder / "predicted.npy", integers({2, 5}, {1, 2, 3, 4, 0, 5, 6, 7, 8, 0}));
  write_npy(folder / "targets.npy", integers({2, 5}, {1, 2, 3, 4, 0, 5, 6, 7, 8, 0}));
  const CompletedProcess outcome =
      score({"bleu", "predicted.npy", "targets.npy", "--ignore-id", "0", "--fail-if", "bleu<100",
             "--fail-if", "token_accuracy<100"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
}

TEST_F(Score, limits_and_the_verdict_decide_the_exit_code) {
  const std::vector<std::string> digits{"top-k", features_file + ":logits",
                                        features_file + ":label"};
  const auto code = [&](std::vector<std::string> more) {
    more.insert(more.begin(), digits.begin(), digits.end());
    return score(more).exit_code;
  };
  EXPECT_EQ(code({"--fail-if", "top1_accuracy<94"}), 0);
  EXPECT_EQ(code({"--fail-if", "top1_accuracy<95"}), 1);
  EXPECT_EQ(code({"--fail-if", "3:accuracy<81"}), 1);
  EXPECT_EQ(code({"--reference", features_file + ":label"}), 2);  // logits beside classes
}

TEST_F(Score, output_goes_to_the_file) {
  const CompletedProcess outcome =
      score({"top-k", features_file + ":logits", features_file + ":label", "-o", "out.json"});
  EXPECT_EQ(outcome.out, "");
  expect_valid_json("task", read_text(folder / "out.json"));
}

TEST_F(Score, what_cannot_be_scored_is_a_one_line_error) {
  const std::string logits = features_file + ":logits", labels = features_file + ":label";
  expect_error(score({"top-k", logits, features_file}), "holds 3 arrays");
  expect_error(score({"top-k", logits, features_file + ":lable"}), "no array 'lable'");
  expect_error(score({"top-k", logits, logits}), "expected [samples]");
  expect_error(score({"knn", labels, labels}), "expected [samples,dims]");
  expect_error(score({"knn", logits, labels, "--pooling", "gap"}), "choose another");
  EXPECT_EQ(score({"knn", logits, labels, "--bank", logits}).exit_code, 2);
  expect_error(score({"miou", logits, labels}), "[images,height,width]");
  expect_error(score({"top-k", logits, labels, "--fail-if", "bleu<3"}), "no metric 'bleu'");
  expect_error(score({"top-k", logits, labels, "-o", "no/such/x.json"}), "no folder");
  write_text("a.txt", "a\n");
  write_text("b.txt", "a\nb\n");
  write_text("latin1.txt", "\xe9\n");
  expect_error(score({"bleu", "a.txt", "b.txt"}), "predictions: 1, targets: 2");
  expect_error(score({"bleu", "latin1.txt", "a.txt"}), "not UTF-8");
  expect_error(score({"bleu", "a.txt", "nowhere.txt"}), "nowhere.txt");
}

}  // namespace
}  // namespace vernier
