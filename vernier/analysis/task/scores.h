#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vernier/metrics/bleu.h"
#include "vernier/metrics/bootstrap.h"
#include "vernier/metrics/classification.h"
#include "vernier/metrics/neighbours.h"
#include "vernier/metrics/segmentation.h"
#include "vernier/tensor/tensor.h"
#include "vernier/warning.h"

namespace vernier {

// A metric of a task, in percent, except fill-mask's.
struct MetricScore {
  std::string name;
  Statistic of_samples;          // the metric over some of the samples
  std::optional<double> chance;  // score of the best guess that ignores the input
  double of_all(std::int64_t samples) const;
};

struct ClassScore {
  std::int64_t label = 0;
  std::int64_t support = 0;  // samples, or pixels, with this label
  double score = 0;
};

// How well one side, reference or candidate, does a task: one struct for all tasks.
struct Scores {
  std::int64_t samples = 0;
  std::vector<MetricScore> metrics;
  std::string class_metric;  // the metric of `classes`: "accuracy", "iou"
  std::vector<ClassScore> classes;
  std::vector<std::pair<std::string, std::int64_t>> counts;  // of what was left out or is suspect
  std::int64_t non_finite = 0;  // samples answered with NaN, or embeddings with infinity
  std::vector<Warning> warnings;

  // What two sides are compared by besides their metrics; empty if the task does not have it.
  std::vector<std::int64_t> labels;
  Rankings rankings;
  Neighbours neighbours;
  Tensor embeddings;
  std::optional<double> changed_share;  // of pixels or tokens that differ from the reference's
};

struct KnnOptions {
  std::int64_t k = 10;
  double temperature = 0;  // 0: votes are similarities
  int threads = 0;         // 0: one for each core
};

// Embeddings [samples, dims] that are searched instead of the samples' own.
struct EmbeddingBank {
  Tensor embeddings;
  std::vector<std::int64_t> labels;
};

// knn_top1_accuracy and knn_top5_accuracy: leave-one-out among the samples, or against a bank.
Scores score_knn(Tensor embeddings, std::vector<std::int64_t> labels, const KnnOptions& task = {},
                 const EmbeddingBank* bank = nullptr);

// top1_accuracy and top<k>_accuracy of logits [samples, classes]; only top1_accuracy of predicted
// classes [samples].
Scores score_classification(const TensorView& predictions, std::vector<std::int64_t> labels,
                            std::int64_t k = 5);

// mean_iou and overall_accuracy. Throws Error for no images.
Scores score_segmentation(std::vector<ImagePixels> images);

// A predicted sequence of tokens, and one or more targets for it.
struct SequencePair {
  Tokens prediction;
  std::vector<Tokens> targets;
};

// bleu and token_accuracy (against the first target).
Scores score_sequences(std::span<const SequencePair> sequences, const BleuOptions& options = {});

}  // namespace vernier
