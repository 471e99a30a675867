#include "vernier/analysis/task/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "vernier/analysis/parts/record.h"
#include "vernier/error.h"
#include "vernier/metrics/tensor_statistics.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/rows.h"

namespace vernier {
namespace {

// Logits [samples, classes] as they are, predicted classes [samples] as [samples, 1].
Tensor logits_or_classes(const TensorView& rows) {
  const bool classes = is_integer(rows.dtype) &&
                       (rows.shape.size() == 1 || (rows.shape.size() == 2 && rows.shape[1] == 1));
  if (!classes && (rows.shape.size() != 2 || !is_float(rows.dtype)))
    throw Error(
        fmt::format("[task] output '{}' is {} {}, image-classification expects logits "
                    "[samples,classes] or classes [samples] as integers",
                    rows.name, dtype_name(rows.dtype), format_shape(rows.shape)));
  Tensor kept = copy(rows);
  if (classes) kept.shape = {rows.shape[0], 1};
  return kept;
}

// The highest rank of arrays that a task reads, with the axis of samples and that of classes.
std::size_t highest_rank(const TaskOptions& options, DType dtype) {
  const bool logits = is_float(dtype);
  switch (options.task) {
    case Task::image_classification: return 2;
    case Task::image_feature_extraction: return options.pooling == Pooling::gap ? 4 : 3;
    case Task::image_segmentation: return logits ? 4 : 3;
    case Task::text_generation:
    case Task::translation: break;
  }
  return logits ? 3 : 2;
}

// The number of classes: given, else that of the logits, else the highest in either map plus 1.
std::int64_t class_count(const TensorView& prediction, std::span<const std::int64_t> predicted,
                         std::span<const std::int64_t> labels, const TaskOptions& options) {
  if (options.classes > 0) return options.classes;
  if (prediction.shape.size() == 3) return prediction.shape[0];
  std::int64_t highest = 0;
  for (const auto& map : {predicted, labels})
    for (const std::int64_t value : map)
      if (value != options.ignored_label) highest = std::max(highest, value);
  return highest + 1;
}

// The predicted classes of one image at the size of its label map: logits [classes, height, width]
// are interpolated, classes [height, width] are resized by nearest neighbour.
std::vector<std::int64_t> predicted_map(const TensorView& prediction, std::int64_t height,
                                        std::int64_t width) {
  if (prediction.shape.size() == 3) return best_classes(prediction, height, width);
  if (prediction.shape.size() != 2 || prediction.size() == 0)
    throw Error(
        fmt::format("[task] output '{}' has shape {} for an image, expected classes [height,width] "
                    "or logits [classes,height,width]",
                    prediction.name, format_shape(prediction.shape)));
  const std::vector<std::int64_t> classes = to_integers(prediction);
  const std::int64_t old_height = prediction.shape[0], old_width = prediction.shape[1];
  std::vector<std::int64_t> map;
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      map.push_back(classes[y * old_height / height * old_width + x * old_width / width]);
  return map;
}

// Ids [tokens], or the best of logits [tokens, vocabulary].
Tokens tokens_of(const TensorView& prediction) {
  if (prediction.shape.size() == 1 && is_integer(prediction.dtype)) return to_integers(prediction);
  if (prediction.shape.size() == 2 && is_float(prediction.dtype))
    return rank_logits(prediction, 1).classes;
  throw Error(
      fmt::format("[task] output '{}' is {} {} for a sequence, expected token ids [tokens] or "
                  "logits [tokens,vocabulary]",
                  prediction.name, dtype_name(prediction.dtype), format_shape(prediction.shape)));
}

// Leaves out the positions where the mask, which may be shorter, holds `ignored`.
Tokens without_ignored_places(const Tokens& tokens, const Tokens& mask, std::int64_t ignored) {
  Tokens kept;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (i >= mask.size() || mask[i] != ignored) kept.push_back(tokens[i]);
  return kept;
}

// Numbers words in order of first appearance.
class Vocabulary {
 public:
  explicit Vocabulary(const TokeniseOptions& options) : options_(options) {}

  Tokens number(const std::string& sentence) {
    Tokens tokens;
    for (std::string& word : tokenise(sentence, options_))
      tokens.push_back(numbers_.try_emplace(std::move(word), numbers_.size()).first->second);
    return tokens;
  }

 private:
  TokeniseOptions options_;
  std::unordered_map<std::string, std::int64_t> numbers_;
};

}  // namespace

// A batch of fixed size may end with rows that belong to no example.
void Predictions::add(const TensorView& output, const Batch& batch) {
  const std::int64_t rows = batch.input.shape.at(0);
  if (output.shape.empty() || output.shape[0] != rows)
    throw Error(fmt::format(
        "[task] output '{}' has shape {}, expected a row for each of {} examples in a batch",
        output.name, format_shape(output.shape), rows));
  Shape shape(output.shape.begin(), output.shape.end());
  shape[0] = static_cast<std::int64_t>(batch.labels.size());
  const std::size_t bytes = output.bytes.size() / rows * batch.labels.size();
  add({output.name, output.dtype, shape, output.bytes.first(bytes)}, batch.labels, batch.targets);
}

void Predictions::add(const TensorView& rows, std::span<const std::int64_t> labels,
                      std::span<const Tensor> targets) {
  if (rows.shape.empty() || rows.shape[0] != static_cast<std::int64_t>(labels.size()))
    throw Error(
        fmt::format("[task] '{}' has shape {} for {} labels; both must be of the same samples",
                    rows.name, format_shape(rows.shape), labels.size()));
  latest_.clear();
  switch (options_.task) {
    case Task::image_feature_extraction:
      add_rows(pool(rows, options_.pooling ? *options_.pooling : default_pooling(rows)));
      break;
    case Task::image_classification: add_rows(logits_or_classes(rows)); break;
    case Task::image_segmentation:
      for (std::size_t i = 0; i < targets.size(); ++i) add_image(row_of(rows, i), targets[i]);
      break;
    case Task::text_generation:
    case Task::translation:
      for (std::size_t i = 0; i < targets.size(); ++i) add_sequence(row_of(rows, i), targets[i]);
      break;
  }
  labels_.insert(labels_.end(), labels.begin(), labels.end());
}

void Predictions::append(const Predictions& more) {
  if (more.rows_.shape[0] > 0) add_rows(more.rows_);
  labels_.insert(labels_.end(), more.labels_.begin(), more.labels_.end());
  images_.insert(images_.end(), more.images_.begin(), more.images_.end());
  sequences_.insert(sequences_.end(), more.sequences_.begin(), more.sequences_.end());
  nan_answers_ += more.nan_answers_;
}

void Predictions::require_whole() const {
  const Shape& shape = rows_.shape;
  const auto count = checked_element_count(shape);
  const bool has_rows = shape.size() == 2 && count && static_cast<int>(rows_.dtype) < dtype_count &&
                        byte_size(rows_.dtype, *count) == std::ssize(rows_.bytes);
  if (!has_rows || (shape[0] != 0 && shape[0] != examples())) throw damaged_record();
}

// All rows are converted to the dtype of the first ones.
void Predictions::add_rows(const Tensor& rows) {
  if (examples() == 0) {
    rows_ = rows;
    return;
  }
  if (rows.shape[1] != rows_.shape[1])
    throw Error(fmt::format("[task] output '{}' has rows of {} elements after rows of {}",
                            rows.name, rows.shape[1], rows_.shape[1]));
  const Tensor more = convert(rows, rows_.dtype);
  rows_.shape[0] += more.shape[0];
  rows_.bytes.insert(rows_.bytes.end(), more.bytes.begin(), more.bytes.end());
}

// The best class of logits that hold NaN means nothing.
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
  const std::vector<std::int64_t> values = to_integers(labels);
  images_.push_back(count_pixels(predicted, values,
                                 {.classes = class_count(prediction, predicted, values, options_),
                                  .ignored_label = options_.ignored_label}));
  latest_.insert(latest_.end(), predicted.begin(), predicted.end());
}

void Predictions::add_sequence(const TensorView& prediction, const Tensor& target) {
  note_nan(prediction);
  const TensorView targets[] = {target};
  sequences_.push_back(pair_tokens(prediction, targets, options_.ignored_label));
  const Tokens predicted = tokens_of(prediction);
  latest_.insert(latest_.end(), predicted.begin(), predicted.end());
}

Scores Predictions::score(const EmbeddingBank* bank) && {
  if (options_.task == Task::image_feature_extraction)
    return score_knn(std::move(rows_), std::move(labels_), options_.knn, bank);
  if (is_integer(rows_.dtype)) rows_.shape = {examples()};
  if (options_.task == Task::image_classification)
    return score_classification(rows_, std::move(labels_), options_.top_k);
  Scores scores = options_.task == Task::image_segmentation
                      ? score_segmentation(std::move(images_))
                      : score_sequences(sequences_, options_.bleu);
  scores.non_finite = nan_answers_;
  return scores;
}

void BlockAnswers::append(const BlockAnswers& more) {
  reference.append(more.reference);
  candidate.append(more.candidate);
  report.positions.insert(report.positions.end(), more.report.positions.begin(),
                          more.report.positions.end());
  compared += more.compared;
  changed += more.changed;
}

Tensor merge_runs(Tensor recorded, const TaskOptions& options, std::int64_t samples) {
  Shape& shape = recorded.shape;
  if (shape.size() < 2 || shape[0] * shape[1] != samples) return recorded;
  if (shape[0] == samples && shape.size() <= highest_rank(options, recorded.dtype)) return recorded;
  shape[1] = samples;
  shape.erase(shape.begin());
  return recorded;
}

SequencePair pair_tokens(const TensorView& prediction, std::span<const TensorView> targets,
                         std::optional<std::int64_t> ignored) {
  SequencePair pair{tokens_of(prediction), {}};
  for (const TensorView& target : targets) {
    if (target.shape.size() != 1)
      throw Error(
          fmt::format("[task] labels of shape {} for a sequence, expected token ids [tokens]",
                      format_shape(target.shape)));
    pair.targets.push_back(to_integers(target));
  }
  if (!ignored) return pair;
  pair.prediction = without_ignored_places(pair.prediction, pair.targets[0], *ignored);
  std::erase(pair.prediction, *ignored);
  for (Tokens& target : pair.targets) std::erase(target, *ignored);
  return pair;
}

std::vector<SequencePair> pair_sentences(std::span<const std::string> predictions,
                                         std::span<const std::vector<std::string>> target_sets,
                                         const TokeniseOptions& options) {
  Vocabulary vocabulary(options);
  std::vector<SequencePair> pairs;
  for (const std::string& prediction : predictions)
    pairs.push_back({vocabulary.number(prediction), {}});
  for (const std::vector<std::string>& targets : target_sets) {
    if (predictions.size() != targets.size())
      throw Error(
          fmt::format("[bleu] predictions: {}, targets: {}; line i of both must belong together",
                      predictions.size(), targets.size()));
    for (std::size_t i = 0; i < targets.size(); ++i)
      pairs[i].targets.push_back(vocabulary.number(targets[i]));
  }
  return pairs;
}

}  // namespace vernier
