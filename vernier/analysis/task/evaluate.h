#pragma once

#include <filesystem>

#include "vernier/analysis/parts/records.h"
#include "vernier/analysis/progress.h"
#include "vernier/analysis/task/examples.h"
#include "vernier/analysis/task/judge.h"

namespace vernier {

struct TaskModels {
  Runner* reference = nullptr;  // may be null
  Runner& candidate;
  std::filesystem::path recording = {};  // that the reference replays; empty: it is a model
};

struct EvaluateOptions {
  TaskOptions task;
  JudgeOptions judge;  // evaluate() names the classes
  Progress progress;
  // What was measured of batches before, and where what is measured is kept; may be null. Where
  // these are a part, nothing is judged.
  SampleRecords* records = nullptr;
};

// What evaluate() calls the records of examples, and of those that are searched.
inline constexpr const char* examples_section = "examples";
inline constexpr const char* bank_section = "bank";

// Runs the models on the same examples, one after the other on each batch, scores their predictions
// and judges the scores. Predictions are one output of the candidate, and the reference's of the
// same name, or else at the same place. Where a model's answers depend on what else is in the
// batch, a warning says so. `bank` holds examples whose embeddings are searched instead of the
// examples' own; may be null. Embeddings and logits are kept, images are not. Throws Error for
// predictions that the task cannot read, and for models that answer in different classes.
TaskResult evaluate(const TaskModels& models, const TaskExamples& examples,
                    const TaskExamples* bank, const EvaluateOptions& options);

}  // namespace vernier
