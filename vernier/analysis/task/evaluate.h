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
  std::filesystem::path recording = {};  // that the reference replays; empty if it is a model
};

struct EvaluateOptions {
  TaskOptions task;
  JudgeOptions judge;  // evaluate() sets class_names
  Progress progress;
  // Holds batches that were measured before, and keeps new ones; may be null. If it is a part,
  // nothing is judged.
  SampleRecords* records = nullptr;
};

// The sections of the records of evaluate(): of the examples, and of the bank.
inline constexpr const char* examples_section = "examples";
inline constexpr const char* bank_section = "bank";

// Runs both models on each batch of examples, scores their predictions and judges the scores.
// Predictions are one output of the candidate, and the reference's output that pair_outputs() pairs
// it with. If a model's answers depend on the rest of the batch, a warning says so.
// `bank` holds examples whose embeddings are searched instead of the examples' own; may be null.
// Embeddings and logits are kept in memory, images are not. Throws Error for predictions that the
// task cannot read, for models with different classes, and if the reference lacks the output.
TaskResult evaluate(const TaskModels& models, const TaskExamples& examples,
                    const TaskExamples* bank, const EvaluateOptions& options);

}  // namespace vernier
