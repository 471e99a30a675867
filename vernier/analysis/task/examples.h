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

// The examples of a dataset's split, and how they are loaded for a model.
struct TaskExamples {
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Loader> loader;                   // null if there are none
  std::map<std::int64_t, std::string> class_names;  // by the model's labels
  std::filesystem::path mapping;                    // of labels; empty if they are the model's
  std::optional<Preprocessing> preprocessing;       // nullopt if the inputs are ready
  std::int64_t batch = 1;                           // examples in each run
  Selection selection;                              // of the dataset's examples
};

// Opens the examples that `inputs` names, for a model whose preprocessing is described beside
// `path`. By default 1000 examples, drawn from all. If the reference is a recording, they are taken
// in its order; throws Error if that is not possible. Classes that a config.json beside the model
// names get its labels.
TaskExamples open_task_examples(const InputSpec& inputs, const TaskOptions& task,
                                const Runner& model, const std::filesystem::path& path,
                                const std::filesystem::path& recording = {});

// Opens all examples of another split, whose embeddings are searched. Throws Error if its classes
// are not those of `queries`.
TaskExamples open_task_bank(InputSpec inputs, const std::string& split, const TaskOptions& task,
                            const Runner& model, const std::filesystem::path& path,
                            const TaskExamples& queries);

// The index of the output that is scored. Throws Error if the model has none of that name.
std::size_t scored_output(const std::vector<TensorSpec>& outputs, const std::string& name);

}  // namespace vernier
