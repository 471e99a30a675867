#include "vernier/analysis/task/score_files.h"

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "vernier/analysis/task/predictions.h"
#include "vernier/data/arrays.h"
#include "vernier/data/read_file.h"
#include "vernier/error.h"
#include "vernier/tensor/rows.h"

namespace vernier {
namespace {

// Scores a file of predictions against labels that were read before.
using ScoreFile = std::function<Scores(const std::string& predictions)>;

std::vector<std::int64_t> read_labels(const std::string& file) {
  const Tensor labels = read_array(file);
  const bool recorded = labels.shape.size() == 2 && is_integer(labels.dtype);  // [runs, batch]
  if (labels.shape.size() != 1 && !recorded)
    throw Error(fmt::format("[score] {}: labels have shape {}, expected [samples]", file,
                            format_shape(labels.shape)));
  return to_integers(labels);
}

Predictions read_predictions(const TaskOptions& task, const std::string& file,
                             const std::vector<std::int64_t>& labels) {
  Predictions predictions(task);
  predictions.add(merge_runs(read_array(file), task, std::ssize(labels)), labels);
  return predictions;
}

ScoreFile with_classes(const LabelFiles& files) {
  std::vector<std::int64_t> labels = read_labels(files.labels[0]);
  std::optional<EmbeddingBank> bank;
  if (!files.bank.empty())
    bank = read_predictions(files.task, files.bank, read_labels(files.bank_labels)).as_bank();
  return [&files, labels = std::move(labels), bank = std::move(bank)](const std::string& file) {
    return read_predictions(files.task, file, labels).score(bank ? &*bank : nullptr);
  };
}

// The label maps [height, width] of an array [images, height, width].
std::vector<Tensor> read_maps(const std::string& file) {
  const Tensor labels = read_array(file);
  if (labels.shape.size() != 3)
    throw Error(fmt::format("[score] {}: labels have shape {}, expected [images,height,width]",
                            file, format_shape(labels.shape)));
  std::vector<Tensor> maps;
  for (std::int64_t i = 0; i < labels.shape[0]; ++i) maps.push_back(copy(row_of(labels, i)));
  return maps;
}

ScoreFile with_maps(const LabelFiles& files) {
  return [&files, maps = read_maps(files.labels[0])](const std::string& file) {
    Predictions predictions(files.task);
    predictions.add(merge_runs(read_array(file), files.task, std::ssize(maps)),
                    std::vector<std::int64_t>(maps.size(), -1), maps);
    return std::move(predictions).score();
  };
}

// The targets [sequences, tokens] of each file.
std::vector<Tensor> read_target_sets(const std::vector<std::string>& files) {
  std::vector<Tensor> sets;
  for (const std::string& file : files) {
    sets.push_back(read_array(file));
    const Shape& shape = sets.back().shape;
    if (shape.size() != 2 || shape[0] != sets[0].shape[0])
      throw Error(
          fmt::format("[score] {}: shape {}, expected token ids [sequences,tokens] of as many "
                      "sequences as there are predictions",
                      file, format_shape(shape)));
  }
  return sets;
}

// Token ids [sequences, tokens], or logits with the vocabulary as a last axis, with their targets.
std::vector<SequencePair> read_token_ids(const LabelFiles& files, const std::string& file) {
  const std::vector<Tensor> target_sets = read_target_sets(files.labels);
  const std::int64_t sequences = target_sets[0].shape[0];
  const Tensor predictions = merge_runs(read_array(file), files.task, sequences);
  if (predictions.shape.empty() || predictions.shape[0] != sequences)
    throw Error(
        fmt::format("[score] {}: shape {} for {} targets; both must be of the same sequences", file,
                    format_shape(predictions.shape), sequences));
  std::vector<SequencePair> pairs;
  for (std::int64_t i = 0; i < predictions.shape[0]; ++i) {
    std::vector<TensorView> targets;
    for (const Tensor& set : target_sets) targets.push_back(row_of(set, i));
    pairs.push_back(pair_tokens(row_of(predictions, i), targets, files.task.ignored_label));
  }
  return pairs;
}

std::vector<SequencePair> read_sequences(const LabelFiles& files, const std::string& predictions) {
  if (names_array(predictions)) return read_token_ids(files, predictions);
  std::vector<std::vector<std::string>> targets;
  for (const std::string& file : files.labels) targets.push_back(read_lines(file));
  return pair_sentences(read_lines(predictions), targets, files.text);
}

ScoreFile read_label_files(const LabelFiles& files) {
  if (files.labels.empty()) throw Error("[score] there are no labels to score against");
  switch (files.task.task) {
    case Task::image_segmentation: return with_maps(files);
    case Task::translation:
      return [&files](const std::string& predictions) {
        return score_sequences(read_sequences(files, predictions), files.task.bleu);
      };
    default: return with_classes(files);
  }
}

}  // namespace

bool names_array(std::string_view name) {
  return name.ends_with(".npy") || name.ends_with(".npz") || name.find(".npz:") != name.npos;
}

TaskResult score_files(const std::string& reference, const std::string& candidate,
                       const LabelFiles& files, const JudgeOptions& judge) {
  const ScoreFile score = read_label_files(files);
  const Scores found = score(candidate);
  std::optional<Scores> expected;
  if (!reference.empty()) expected = score(reference);
  return judge_scores(expected ? &*expected : nullptr, found, judge);
}

}  // namespace vernier
