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
// What it measures: in percent, but of fill-mask.
TaskMetrics text_task_metrics(TextTask task);

// What a row of a dataset asks, and what the right answer is.
struct TextExample {
  TextToEncode text, second;         // the second is of sentence-similarity alone
  std::int64_t label = -1;           // of text-classification
  std::vector<std::string> tags;     // of token-classification, one a word
  std::vector<std::string> answers;  // of question-answering; none: it has no answer
  double score = 0;                  // of sentence-similarity
};

// Which columns hold what, where names do not say: "text", "pair" and "label".
using TextColumns = std::map<std::string, std::string>;

// The names of a model's labels, by number: id2label of a config.json beside the model or the
// tokenizer; empty where there is none.
std::map<std::int64_t, std::string> read_label_names(std::span<const std::filesystem::path> beside);

// Reads rows, JSON objects, as examples of a task. Throws Error for a row without what the task
// needs, and for a label that has no number.
std::vector<TextExample> read_examples(TextTask task, std::span<const std::string> rows,
                                       const TextColumns& columns,
                                       const std::map<std::int64_t, std::string>& labels);

// What the inputs of an encoder are to it, told from its graph: `ids` are looked up in the longest
// table, `kinds` in one of a few rows, a mask is compared, summed or cast, positions are counted.
struct EncoderInputs {
  enum class Role { ids, mask, kinds, positions };
  std::vector<Role> roles;             // in the order of the model's inputs
  std::optional<std::int64_t> length;  // of every text, where the model fixes it
};
// Throws Error for a model without ids.
EncoderInputs find_encoder_inputs(const Model& model);

struct TextTaskModels {
  Runner* reference = nullptr;  // may be null; fed by the names of the candidate's inputs
  Runner& candidate;
  EncoderInputs inputs;  // of the candidate
};

struct TextTaskOptions {
  TextTask task = TextTask::text_classification;
  JudgeOptions judge;
  std::map<std::int64_t, std::string> labels;
  std::int64_t most_tokens = 512;
  std::int64_t batch = 1;  // texts that are run at once
  Progress progress;
  // What was measured of single examples, and which are measured here; null: all, and none is kept.
  SampleRecords* records = nullptr;
};
// What evaluate_text_task() calls the records of examples that are run at once, and how many these
// are.
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
