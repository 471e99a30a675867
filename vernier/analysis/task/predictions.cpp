#include "vernier/analysis/task/predictions.h"

#include <fmt/format.h>

#include <algorithm>

#include "vernier/analysis/task/segmentation.h"
#include "vernier/analysis/task/sequences.h"
#include "vernier/error.h"
#include "vernier/metrics/tensor_statistics.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// The rows of the batch's own examples: a fixed batch may have been filled up with others.
Tensor own_rows(const TensorView& output, const Batch& batch) {
  const std::int64_t rows = batch.input.shape.at(0);
  if (output.shape.empty() || output.shape[0] != rows)
    throw Error(fmt::format(
        "[task] output '{}' has shape {}, expected a row for each of {} examples in a batch",
        output.name, format_shape(output.shape), rows));
  Tensor own = copy(output);
  own.bytes.resize(own.bytes.size() / rows * batch.labels.size());
  own.shape[0] = static_cast<std::int64_t>(batch.labels.size());
  return own;
}

TensorView row_of(const TensorView& rows, std::size_t row) {
  const std::size_t bytes = rows.bytes.size() / rows.shape[0];
  return {rows.name, rows.dtype, rows.shape.subspan(1), rows.bytes.subspan(row * bytes, bytes)};
}

void require_logits(const Tensor& rows) {
  if (rows.shape.size() != 2 || !is_float(rows.dtype))
    throw Error(fmt::format(
        "[task] output '{}' is {} {}, image-classification expects logits [samples,classes]",
        rows.name, dtype_name(rows.dtype), format_shape(rows.shape)));
}

// Ids [tokens], or the best of logits [tokens, vocabulary].
Tokens tokens_of(const TensorView& prediction) {
  if (prediction.shape.size() == 1 && is_integer(prediction.dtype)) return to_integers(prediction);
  if (prediction.shape.size() == 2 && is_float(prediction.dtype))
    return rank_logits(prediction, 1).classes;
  throw Error(fmt::format(
      "[task] output '{}' is {} {} for a sequence, expected token ids [tokens] or logits "
      "[tokens,vocabulary]",
      prediction.name, dtype_name(prediction.dtype), format_shape(prediction.shape)));
}

// As many classes as logits have, or as either map names.
std::int64_t class_count(const TensorView& prediction, std::span<const std::int64_t> predicted,
                         std::span<const std::int64_t> labels,
                         std::optional<std::int64_t> ignored) {
  if (prediction.shape.size() == 3) return prediction.shape[0];
  std::int64_t highest = 0;
  for (const auto& map : {predicted, labels})
    for (const std::int64_t value : map)
      if (value != ignored) highest = std::max(highest, value);
  return highest + 1;
}

}  // namespace

void Predictions::add(const TensorView& output, const Batch& batch) {
  const Tensor rows = own_rows(output, batch);
  latest_.clear();
  switch (options_.task) {
    case Task::image_feature_extraction:
      add_rows(pool(rows, options_.pooling ? *options_.pooling : default_pooling(rows)));
      break;
    case Task::image_classification:
      require_logits(rows);
      add_rows(rows);
      break;
    case Task::image_segmentation:
      for (std::size_t i = 0; i < batch.targets.size(); ++i)
        add_image(row_of(rows, i), batch.targets[i]);
      break;
    case Task::text_generation:
    case Task::translation:
      for (std::size_t i = 0; i < batch.targets.size(); ++i)
        add_sequence(row_of(rows, i), batch.targets[i]);
      break;
  }
  labels_.insert(labels_.end(), batch.labels.begin(), batch.labels.end());
}

void Predictions::add_rows(const Tensor& rows) {
  if (examples() > 0 && rows.shape[1] != width())
    throw Error(fmt::format("[task] output '{}' has rows of {} elements after rows of {}",
                            rows.name, rows.shape[1], width()));
  const std::vector<float> values = to_f32(rows);
  const auto bytes = std::as_bytes(std::span(values));
  rows_.name = rows.name;
  rows_.shape = {rows_.shape[0] + rows.shape[0], rows.shape[1]};
  rows_.bytes.insert(rows_.bytes.end(), bytes.begin(), bytes.end());
}

// Which class is best among NaN means nothing.
void Predictions::note_nan(const TensorView& prediction) {
  if (is_float(prediction.dtype) && tensor_statistics(prediction).nan > 0) ++nan_answers_;
}

void Predictions::add_image(const TensorView& prediction, const Tensor& labels) {
  if (labels.shape.size() != 2)
    throw Error(fmt::format("[task] labels of shape {} for an image, expected [height,width]",
                            format_shape(labels.shape)));
  note_nan(prediction);
  const std::vector<std::int64_t> predicted =
      predicted_map(prediction, labels.shape[0], labels.shape[1]);
  const auto values = elements<std::int64_t>(labels.view());
  const SegmentationOptions counting{
      .classes = class_count(prediction, predicted, values, options_.ignored_label),
      .ignored_label = options_.ignored_label};
  images_.push_back(count_pixels(predicted, values, counting));
  latest_.insert(latest_.end(), predicted.begin(), predicted.end());
}

void Predictions::add_sequence(const TensorView& prediction, const Tensor& target) {
  if (target.shape.size() != 1)
    throw Error(fmt::format("[task] labels of shape {} for a sequence, expected token ids [tokens]",
                            format_shape(target.shape)));
  note_nan(prediction);
  const Tokens predicted = tokens_of(prediction);
  const auto values = elements<std::int64_t>(target.view());
  sequences_.push_back(
      pair_tokens(predicted, {values.begin(), values.end()}, options_.ignored_label));
  latest_.insert(latest_.end(), predicted.begin(), predicted.end());
}

TaskScores Predictions::score(const EmbeddingBank* bank) && {
  if (options_.task == Task::image_feature_extraction)
    return score_knn(std::move(rows_), std::move(labels_), options_.knn, bank);
  if (options_.task == Task::image_classification)
    return score_classification(rows_, std::move(labels_), options_.top_k);
  TaskScores scores = options_.task == Task::image_segmentation
                          ? score_segmentation(std::move(images_))
                          : score_sequences(sequences_, options_.bleu);
  scores.non_finite = nan_answers_;
  return scores;
}

}  // namespace vernier
