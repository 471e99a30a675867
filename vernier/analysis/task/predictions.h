#pragma once

#include <vector>

#include "vernier/analysis/task/task.h"
#include "vernier/data/loader.h"

namespace vernier {

// What one model answered to the examples of a dataset, kept as far as its task needs it.
class Predictions {
 public:
  explicit Predictions(const TaskOptions& options) : options_(options) {}

  // An output of the model, of which the first rows belong to the examples of the batch. Throws
  // Error for a shape that the task cannot read.
  void add(const TensorView& output, const Batch& batch);

  std::int64_t examples() const { return static_cast<std::int64_t>(labels_.size()); }
  // Elements of an embedding, or classes; 0 where the task has neither.
  std::int64_t width() const { return rows_.shape[1]; }
  // The class of each pixel, or each token, of the last batch.
  std::span<const std::int64_t> latest() const { return latest_; }

  // `bank` holds the embeddings to search instead of the examples themselves; may be null. Uses
  // the predictions up, as the next does.
  TaskScores score(const EmbeddingBank* bank = nullptr) &&;
  EmbeddingBank as_bank() && { return {std::move(rows_), std::move(labels_)}; }

 private:
  void add_rows(const Tensor& rows);
  void add_image(const TensorView& prediction, const Tensor& labels);
  void add_sequence(const TensorView& prediction, const Tensor& target);
  void note_nan(const TensorView& prediction);

  TaskOptions options_;
  Tensor rows_ = make_tensor("", DType::f32, {0, 0});  // embeddings or logits
  std::vector<std::int64_t> labels_;
  std::vector<ImagePixels> images_;
  std::vector<SequencePair> sequences_;
  std::int64_t nan_answers_ = 0;  // of images and sequences
  std::vector<std::int64_t> latest_;
};

}  // namespace vernier
