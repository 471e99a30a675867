#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/input_options.h"
#include "cli/model_argument.h"
#include "cli/output_options.h"
#include "cli/runtime_options.h"
#include "vernier/analysis/task/evaluate.h"

namespace vernier::cli {

// The options of `vernier eval`, whatever its mode.
struct EvalOptions {
  std::string mode;  // empty: task if there is one, else compare
  std::vector<std::string> models;
  std::string reference;
  ModelIdOptions id;      // with the task
  std::string precision;  // empty: what the model is
  std::vector<std::string> fail_if;
  bool allow_missing = false;  // of compare
  InputOptions input{.default_samples = 100};
  RuntimeOptions runtime;
  RuntimeOptions reference_runtime;
  OutputOptions output;

  // Of tasks.
  EvaluateOptions evaluate;
  std::optional<std::int64_t> k;  // neighbours that vote, or places that count
  KnnTask knn;
  std::string pooling;
  std::string bank_split;
  std::optional<std::int64_t> ignored_label;
  bool timings = false;
};

// How a reference is run: on as many threads as the candidate.
RuntimeOptions reference_runtime(const EvalOptions& options);

// Each mode in a file of its own: eval_compare.cpp, eval_task.cpp.
int run_compare(const EvalOptions& options);
int run_task(const EvalOptions& options);

}  // namespace vernier::cli
