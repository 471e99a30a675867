#include "vernier/analysis/task/predictions.h"

#include <fmt/format.h>

#include <algorithm>

#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// The rows of the batch's own examples: a fixed batch may have been filled up with others.
Tensor own_rows(const TensorView& output, const Batch& batch) {
  if (output.shape.empty() || batch.input.shape.empty() || output.shape[0] != batch.input.shape[0])
    throw Error(fmt::format(
        "[task] output '{}' has shape {}, expected a row for each of {} examples in a batch",
        output.name, format_shape(output.shape), batch.input.shape.at(0)));
  Tensor rows = copy(output);
  rows.bytes.resize(rows.bytes.size() / output.shape[0] * batch.labels.size());
  rows.shape[0] = static_cast<std::int64_t>(batch.labels.size());
  return rows;
}

// Logits, or the class itself as a row of one.
Tensor class_rows(Tensor rows) {
  if (rows.shape.size() == 2 && is_float(rows.dtype)) return rows;
  throw Error(fmt::format(
      "[task] output '{}' is {} {}, image-classification expects logits [samples,classes]",
      rows.name, dtype_name(rows.dtype), format_shape(rows.shape)));
}

}  // namespace

void Predictions::add(const TensorView& output, const Batch& batch) {
  Tensor rows = own_rows(output, batch);
  switch (options_.task) {
    case Task::image_feature_extraction:
      add_rows(pool(rows, options_.pooling ? *options_.pooling : default_pooling(rows)));
      break;
    case Task::image_classification: add_rows(class_rows(std::move(rows))); break;
  }
  labels_.insert(labels_.end(), batch.labels.begin(), batch.labels.end());
}

void Predictions::add_rows(const Tensor& rows) {
  if (examples() > 0 && rows.shape[1] != width_)
    throw Error(fmt::format("[task] output '{}' has rows of {} elements after rows of {}",
                            rows.name, rows.shape[1], width_));
  name_ = rows.name;
  width_ = rows.shape[1];
  const std::vector<float> values = to_f32(rows);
  values_.insert(values_.end(), values.begin(), values.end());
}

Tensor Predictions::rows() const {
  Tensor rows = make_tensor(name_, DType::f32, {examples(), width_});
  std::ranges::copy(values_, elements<float>(rows).begin());
  return rows;
}

TaskScores Predictions::score(const EmbeddingBank* bank) const {
  if (options_.task == Task::image_feature_extraction)
    return score_knn(rows(), labels_, options_.knn, bank);
  return score_classification(rows(), labels_, options_.top_k);
}

}  // namespace vernier
