#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/parts.h"
#include "vernier/analysis/compare/compare_models.h"
#include "vernier/analysis/task/judge.h"

namespace vernier::cli {

// The options of `vernier eval`, for all modes.
struct EvalCommand {
  std::string mode;  // if empty, task or compare, by the other options
  ModelOptions models;
  std::string precision;  // if empty, the model's own precision
  std::vector<std::string> fail_if;
  BaselineOptions baseline;
  bool allow_missing = false;  // this and the next three are for --mode compare
  bool stages = false;
  bool no_weights = false;
  std::string save_inputs;
  IoMapping io;
  std::optional<std::int64_t> steps;  // per sequence; nullopt means 10 with feedback, else 1
  InputSpec input{.default_samples = default_compare_samples};
  RuntimeOptions runtime;
  RuntimeOptions reference_runtime;  // `threads` is ignored: those of `runtime` apply
  OutputOptions output;
  PartOptions parts;

  // For text-generation.
  std::string text, tokenizer;
  std::optional<std::int64_t> block_length;
  std::string text_column, pair_column;  // for tasks on tables of texts

  // For other tasks.
  JudgeOptions judge;
  std::optional<std::int64_t> k;  // k of knn voting, or of top-k accuracy
  KnnOptions knn;
  std::string pooling;
  std::string bank_split;
  std::optional<std::int64_t> ignored_label;
  std::string output_name;  // the output that is scored; if empty, the first
  bool timings = false;
};

// Runner options of the reference, for every model format.
RunnerOptions reference_runtime(const EvalCommand& options, const HostOptions& host = {});

// Opens a reference of any format and prints its warnings. `loaded` is the model of an ONNX file;
// null for other formats.
std::unique_ptr<Runner> open_reference(const EvalCommand& options,
                                       const std::filesystem::path& path, const HostOptions& host,
                                       const Model* loaded = nullptr);

// Runs --mode task and --mode reference for image and token tasks (eval_task.cpp).
int run_task(const EvalCommand& options);
// Whether the task is text-generation on a text or on tokens without labels: the model is then
// scored by how well it predicts the tokens.
bool scores_text(const EvalCommand& options);
// Runs such a task (eval_text.cpp).
int run_text(const EvalCommand& options);

// Whether the task is one on a table of texts; run_text_task() runs it (eval_text_task.cpp).
bool is_text_task(const EvalCommand& options);
int run_text_task(const EvalCommand& options);

}  // namespace vernier::cli
