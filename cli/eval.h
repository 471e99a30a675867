#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/parts.h"
#include "vernier/analysis/task/judge.h"

namespace vernier::cli {

// The options of `vernier eval`, whatever its mode.
struct EvalCommand {
  std::string mode;  // empty: task if there is one, else compare
  ModelOptions models;
  std::string precision;  // empty: what the model is
  std::vector<std::string> fail_if;
  BaselineOptions baseline;
  bool allow_missing = false;  // of compare, as the next three
  bool stages = false;
  bool no_weights = false;
  std::string save_inputs;
  IoMapping io;
  std::optional<std::int64_t> steps;  // of a sequence; unset: 1, or with feedback 10
  InputSpec input{.default_samples = 100};
  RuntimeOptions runtime;
  RuntimeOptions reference_runtime;  // but for threads, which are the candidate's
  OutputOptions output;
  PartOptions parts;

  // Of text-generation.
  std::string text, tokenizer;
  std::optional<std::int64_t> block_length;
  std::string text_column, pair_column;  // of tasks on texts

  // Of tasks.
  JudgeOptions judge;
  std::optional<std::int64_t> k;  // neighbours that vote, or places that count
  KnnOptions knn;
  std::string pooling;
  std::string bank_split;
  std::optional<std::int64_t> ignored_label;
  std::string output_name;  // that is scored; empty: the first
  bool timings = false;
};

// Opens a reference of any format; what makes it doubtful is printed as a warning.
std::unique_ptr<Runner> open_reference(const EvalCommand& options,
                                       const std::filesystem::path& path, const HostOptions& host);

// --mode task and --mode reference: eval_task.cpp.
int run_task(const EvalCommand& options);
// Whether the task is text-generation, on a text or on tokens without labels: how well these are
// predicted is scored, and not an answer.
bool scores_text(const EvalCommand& options);
// The same of such a task: eval_text.cpp.
int run_text(const EvalCommand& options);

// Whether the task is one on a table of texts, and the same of such a task: eval_text_task.cpp.
bool is_text_task(const EvalCommand& options);
int run_text_task(const EvalCommand& options);

}  // namespace vernier::cli
