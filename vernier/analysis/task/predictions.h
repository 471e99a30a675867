#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/task/task.h"
#include "vernier/data/loader.h"
#include "vernier/metrics/tokenise.h"

namespace vernier {

// What one model answered to the examples of a dataset, kept as far as its task needs it.
class Predictions {
 public:
  explicit Predictions(const TaskOptions& options) : options_(options) {}

  // An output of the model, of which the first rows belong to the examples of the batch. Throws
  // Error for a shape that the task cannot read.
  void add(const TensorView& output, const Batch& batch);
  // Rows with the label of each, or its target where the task needs one.
  void add(const TensorView& rows, std::span<const std::int64_t> labels,
           std::span<const Tensor> targets = {});

  // Those of further examples, behind these.
  void append(const Predictions& more);

  std::int64_t examples() const { return static_cast<std::int64_t>(labels_.size()); }
  // Elements of an embedding, or classes of logits; 0 where there are neither.
  std::int64_t width() const { return is_integer(rows_.dtype) ? 0 : rows_.shape[1]; }
  // The class of each pixel, or each token, of the last batch.
  std::span<const std::int64_t> latest() const { return latest_; }

  // `bank` holds the embeddings to search instead of the examples themselves; may be null. Uses
  // the predictions up, as the next does.
  Scores score(const EmbeddingBank* bank = nullptr) &&;
  EmbeddingBank as_bank() && { return {std::move(rows_), std::move(labels_)}; }

  template <typename Archive>
  friend void fields(Archive& archive, Predictions& some) {
    archive(some.rows_.name, some.rows_.dtype, some.rows_.shape, some.rows_.bytes, some.labels_,
            some.images_, some.sequences_, some.nan_answers_);
    some.require_whole();
  }

 private:
  void require_whole() const;  // after it was read from a record
  void add_rows(const Tensor& rows);
  void add_image(const TensorView& prediction, const Tensor& labels);
  void add_sequence(const TensorView& prediction, const Tensor& target);
  void note_nan(const TensorView& prediction);

  TaskOptions options_;
  Tensor rows_ = make_tensor("", DType::f32, {0, 0});  // embeddings, logits or classes
  std::vector<std::int64_t> labels_;                   // -1 where a target counts
  std::vector<ImagePixels> images_;
  std::vector<SequencePair> sequences_;
  std::int64_t nan_answers_ = 0;  // of images and sequences
  std::vector<std::int64_t> latest_;
};

// Recorded outputs [runs, batch, ...] as rows, where the task reads no array of that rank or there
// are `samples` rows only then; else as they are.
Tensor merge_runs(Tensor recorded, const TaskOptions& options, std::int64_t samples);

// One slice along the leading axis.
TensorView row_of(const TensorView& rows, std::int64_t row);

// Token ids [tokens], or logits [tokens, vocabulary], with the targets [tokens] that they should
// equal. Ids equal to `ignored`, as padding is, are left out; where the first target is `ignored`
// the prediction's token at that place is left out too, so that places still correspond.
SequencePair pair_tokens(const TensorView& prediction, std::span<const TensorView> targets,
                         std::optional<std::int64_t> ignored = std::nullopt);

// Sentence i of the predictions belongs to sentence i of every set of targets. A set with more or
// fewer sentences is an Error.
std::vector<SequencePair> pair_sentences(std::span<const std::string> predictions,
                                         std::span<const std::vector<std::string>> target_sets,
                                         const TokeniseOptions& options = {});

}  // namespace vernier
