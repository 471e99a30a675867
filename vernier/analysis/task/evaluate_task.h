#pragma once

#include "vernier/analysis/progress.h"
#include "vernier/analysis/task/evaluate.h"
#include "vernier/analysis/task/predictions.h"
#include "vernier/runtime/runner.h"

namespace vernier {

struct TaskModels {
  Runner* reference = nullptr;  // may be null
  Runner& candidate;
};

// Examples made for the candidate's input.
struct TaskData {
  Loader& examples;
  Loader* bank = nullptr;  // of embeddings that are searched instead of the examples' own
};

struct EvaluateTaskOptions {
  TaskOptions task;
  EvaluateOptions evaluate;
  std::size_t dataset_classes = 0;  // that a classifier must tell apart; 0: any number
  Progress progress;
};

// Where the time went, in seconds.
struct TaskTimings {
  double waiting = 0;    // for examples to be read, decoded and preprocessed
  double reference = 0;  // inside the runtime
  double candidate = 0;  // the same
  double scoring = 0;
  bool operator==(const TaskTimings&) const = default;
};

struct TaskEvaluation {
  Evaluation evaluation;
  DatasetReport data;
  DatasetReport bank;
  TaskTimings timings;
  bool interrupted = false;  // only what was done before is scored
};

// Runs the models on the same examples, one after the other on each batch, and scores what they
// answer: the output of the candidate's first output's name, or the first. Embeddings and logits
// are kept, images are not. Throws Error for answers that the task cannot read, and for models that
// answer in different classes.
TaskEvaluation evaluate_task(const TaskModels& models, const TaskData& data,
                             const EvaluateTaskOptions& options);

}  // namespace vernier
