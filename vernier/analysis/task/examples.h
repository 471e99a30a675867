#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/task/task.h"
#include "vernier/data/dataset.h"
#include "vernier/data/dataset_spec.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// A split of a dataset on its way to a model.
struct TaskExamples {
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Loader> loader;                   // null: there are none
  std::map<std::int64_t, std::string> class_names;  // by the model's labels
  bool mapped = false;                              // by a label mapping
  std::optional<Preprocessing> preprocessing;       // nothing: the inputs are ready
  std::int64_t batch = 1;                           // examples in each run
};

// Opens the examples that `selection` takes of the dataset, for a model whose preprocessing is
// described beside `path`.
TaskExamples open_task_examples(const DatasetSpec& spec, const Selection& selection, Task task,
                                const Runner& model, const std::filesystem::path& path);

// The examples of another split, whose embeddings are searched. Throws Error if its labels mean
// something else than those of `queries`.
TaskExamples open_task_bank(DatasetSpec spec, const std::string& split, const Selection& selection,
                            Task task, const Runner& model, const std::filesystem::path& path,
                            const TaskExamples& queries);

// What was left out, and which classes have no sample.
std::vector<std::string> task_data_warnings(const DatasetReport& report);

// Recorded samples are told apart by their number alone, which `record` gives to every readable
// image: throws Error if examples were left out for their labels.
void require_every_label(const DatasetReport& report, const std::filesystem::path& recording);

}  // namespace vernier
