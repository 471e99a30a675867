#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/parts/records.h"
#include "vernier/analysis/progress.h"
#include "vernier/analysis/task/judge.h"
#include "vernier/exporting/tokenizer.h"
#include "vernier/model/model.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// Tasks that are scored on texts, by Hugging Face's names.
enum class TextTask {
  text_classification,
  token_classification,
  question_answering,
  fill_mask,
  sentence_similarity,
};
std::optional<TextTask> parse_text_task(std::string_view name);
std::span<const std::string_view> text_task_names();
// The task's metrics: in percent, except those of fill-mask.
TaskMetrics text_task_metrics(TextTask task);

// What a row of a dataset asks, and the expected answer.
struct TextExample {
  TextToEncode text, second;         // `second` only for sentence-similarity
  std::int64_t label = -1;           // for text-classification
  std::vector<std::string> tags;     // for token-classification, one for each word
  std::vector<std::string> answers;  // for question-answering; empty if the question has no answer
  double score = 0;                  // for sentence-similarity
};

// The names of the columns "text", "pair" and "label", if they are not the usual ones.
using TextColumns = std::map<std::string, std::string>;

// A model's label names by number: id2label of the first config.json beside one of these paths that
// has it; empty if there is none.
std::map<std::int64_t, std::string> read_label_names(std::span<const std::filesystem::path> beside);

// Reads rows, JSON objects, as examples of a task. Throws Error for a row that lacks what the task
// needs, for a label that has no number, and if there are no rows.
std::vector<TextExample> read_examples(TextTask task, std::span<const std::string> rows,
                                       const TextColumns& columns,
                                       const std::map<std::int64_t, std::string>& labels);

// The roles of an encoder's inputs, derived from its graph: `ids` are looked up in the longest
// table, `kinds` (token types) in one of fewer than 8 rows, `positions` in another longer table;
// every other input is a mask.
struct EncoderInputs {
  enum class Role { ids, mask, kinds, positions };
  std::vector<Role> roles;             // in the order of the model's inputs
  std::optional<std::int64_t> length;  // of every text, if the model fixes it
};
// Throws Error for a model that looks up no tokens.
EncoderInputs find_encoder_inputs(const Model& model);

struct TextTaskModels {
  Runner* reference = nullptr;  // may be null; its inputs are bound to the candidate's by name
  Runner& candidate;
  EncoderInputs inputs;  // of the candidate
};

struct TextTaskOptions {
  TextTask task = TextTask::text_classification;
  JudgeOptions judge;
  std::map<std::int64_t, std::string> labels;
  std::int64_t most_tokens = 512;
  std::int64_t batch = 1;  // texts per run
  Progress progress;
  // Holds examples measured before, and says which to measure here. If null, all are measured and
  // none is kept.
  SampleRecords* records = nullptr;
};
// The section of the records of evaluate_text_task(), one record for each run of `batch` examples,
// and the number of these runs.
inline constexpr const char* text_task_section = "examples";
std::int64_t text_task_runs(std::int64_t examples, std::int64_t batch);

// Runs both models on each text, by itself or in a batch, scores their answers and judges the
// scores. Answers to questions are spans of 30 tokens at most; tags are those of the first token of
// a word; sentences are compared by the cosine of their mean token vectors. Throws Error for
// outputs that the task cannot read.
TaskResult evaluate_text_task(const TextTaskModels& models, const Tokenizer& tokenizer,
                              std::span<const TextExample> examples,
                              const TextTaskOptions& options);

}  // namespace vernier
