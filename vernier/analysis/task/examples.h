#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/analysis/task/task.h"
#include "vernier/data/dataset.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// A split of a dataset on its way to a model.
struct TaskExamples {
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Loader> loader;                   // null: there are none
  std::map<std::int64_t, std::string> class_names;  // by the model's labels
  std::filesystem::path mapping;                    // of labels; empty: they are the model's
  std::optional<Preprocessing> preprocessing;       // nothing: the inputs are ready
  std::int64_t batch = 1;                           // examples in each run
  Selection selection;                              // of the dataset's examples
};

// Opens the examples that the inputs name for a model whose preprocessing is described beside
// `path`: 1000 of them unless they say otherwise, drawn from all unless they say so. Where a
// recording is the reference, they are taken in its order; throws Error if they cannot be. Classes
// that a config.json beside the model names have its labels.
TaskExamples open_task_examples(const InputSpec& inputs, const TaskOptions& task,
                                const Runner& model, const std::filesystem::path& path,
                                const std::filesystem::path& recording = {});

// All examples of another split, whose embeddings are searched. Throws Error if its labels mean
// something else than those of `queries`.
TaskExamples open_task_bank(InputSpec inputs, const std::string& split, const TaskOptions& task,
                            const Runner& model, const std::filesystem::path& path,
                            const TaskExamples& queries);

// The number of the output that is scored. Throws Error if the model has none of that name.
std::size_t scored_output(const std::vector<TensorSpec>& outputs, const std::string& name);

}  // namespace vernier
