#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/task/task.h"
#include "vernier/data/loader.h"
#include "vernier/metrics/tokenise.h"

namespace vernier {

// One model's answers to the examples of a dataset, kept as far as the task needs them.
class Predictions {
 public:
  explicit Predictions(const TaskOptions& options) : options_(options) {}

  // Adds an output of the model, whose first rows belong to the examples of the batch. Throws Error
  // for a shape that the task cannot read.
  void add(const TensorView& output, const Batch& batch);
  // Adds rows, with the label of each or, if the task needs one, its target.
  void add(const TensorView& rows, std::span<const std::int64_t> labels,
           std::span<const Tensor> targets = {});

  // Adds the answers to further examples after these.
  void append(const Predictions& more);

  std::int64_t examples() const { return static_cast<std::int64_t>(labels_.size()); }
  // The size of an embedding, or the number of classes in logits; 0 if there are neither.
  std::int64_t width() const { return is_integer(rows_.dtype) ? 0 : rows_.shape[1]; }
  // The classes of all pixels, or the tokens, of the last batch.
  std::span<const std::int64_t> latest() const { return latest_; }

  // `bank` holds the embeddings to search instead of the examples' own; may be null. Consumes the
  // predictions, as as_bank() does.
  Scores score(const EmbeddingBank* bank = nullptr) &&;
  EmbeddingBank as_bank() && { return {std::move(rows_), std::move(labels_)}; }

  template <typename Archive>
  friend void fields(Archive& archive, Predictions& some) {
    archive(some.rows_.name, some.rows_.dtype, some.rows_.shape, some.rows_.bytes, some.labels_,
            some.images_, some.sequences_, some.nan_answers_);
    some.require_whole();
  }

 private:
  void require_whole() const;  // called after reading a record
  void add_rows(const Tensor& rows);
  void add_image(const TensorView& prediction, const Tensor& labels);
  void add_sequence(const TensorView& prediction, const Tensor& target);
  void note_nan(const TensorView& prediction);

  TaskOptions options_;
  Tensor rows_ = make_tensor("", DType::f32, {0, 0});  // embeddings, logits or classes
  std::vector<std::int64_t> labels_;                   // -1 if the example has a target instead
  std::vector<ImagePixels> images_;
  std::vector<SequencePair> sequences_;
  std::int64_t nan_answers_ = 0;  // number of images and sequences with NaN
  std::vector<std::int64_t> latest_;
};

// The answers of both models to one block of examples, or to all so far: what an evaluation keeps.
struct BlockAnswers {
  explicit BlockAnswers(const TaskOptions& task = {}) : reference(task), candidate(task) {}

  BlockReport report;
  bool is_run = false;  // false if no example of the block can be used
  Predictions reference, candidate;
  std::int64_t compared = 0, changed = 0;  // pixels or tokens
  std::optional<double> alone_db;          // SQNR of its answers against those to single examples

  // Adds another block's answers, and the positions of its examples.
  void append(const BlockAnswers& more);
};

template <typename Archive>
void fields(Archive& archive, BlockReport& report) {
  archive(report.unreadable, report.without_label, report.unknown_labels, report.problems,
          report.labels, report.positions, report.used);
}

template <typename Archive>
void fields(Archive& archive, ClassPixels& pixels) {
  archive(pixels.intersection, pixels.predicted, pixels.labelled);
}

template <typename Archive>
void fields(Archive& archive, ImagePixels& image) {
  archive(image.classes, image.ignored, image.labels_outside);
}

template <typename Archive>
void fields(Archive& archive, SequencePair& pair) {
  archive(pair.prediction, pair.targets);
}

template <typename Archive>
void fields(Archive& archive, BlockAnswers& block) {
  archive(block.report, block.is_run, block.reference, block.candidate, block.compared,
          block.changed, block.alone_db);
}

// Merges the leading axes of recorded outputs [runs, batch, ...] if that makes `samples` rows,
// unless they already are `samples` rows of a rank that the task reads.
Tensor merge_runs(Tensor recorded, const TaskOptions& options, std::int64_t samples);

// Pairs token ids [tokens], or logits [tokens, vocabulary], with target ids [tokens]. Ids equal to
// `ignored`, such as padding, are left out. Where the first target is `ignored`, the prediction's
// token at that position is left out too, so that positions still correspond.
SequencePair pair_tokens(const TensorView& prediction, std::span<const TensorView> targets,
                         std::optional<std::int64_t> ignored = std::nullopt);

// Pairs sentence i of the predictions with sentence i of every set of targets. Throws Error for a
// set with more or fewer sentences.
std::vector<SequencePair> pair_sentences(std::span<const std::string> predictions,
                                         std::span<const std::vector<std::string>> target_sets,
                                         const TokeniseOptions& options = {});

}  // namespace vernier
