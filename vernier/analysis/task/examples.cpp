#include "vernier/analysis/task/examples.h"

#include <fmt/format.h>

#include "vernier/data/dataset_samples.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::int64_t default_samples = 1000;

// The classes of a classifier's logits [samples, classes], 0 if it does not say.
std::int64_t class_count(Task task, const Runner& model) {
  if (task != Task::image_classification || model.outputs().empty()) return 0;
  const std::vector<Dim>& shape = model.outputs()[0].shape;
  return shape.size() == 2 && !shape[1].is_dynamic() ? shape[1].size : 0;
}

std::map<std::int64_t, std::string> names_by_label(const std::vector<std::string>& classes,
                                                   const std::optional<LabelMapping>& mapping) {
  std::map<std::int64_t, std::string> names;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto label = static_cast<std::int64_t>(i);
    if (!mapping)
      names[label] = classes[i];
    else if (const auto found = mapping->find(label); found != mapping->end())
      names[found->second] = classes[i];
  }
  return names;
}

// Whether the first example is an input already, and no image.
bool holds_ready_inputs(Dataset& dataset) {
  constexpr std::int64_t first = 0;
  return dataset.size() > 0 &&
         std::holds_alternative<Tensor>(dataset.read(std::span(&first, 1)).at(0).content);
}

}  // namespace

TaskExamples open_task_examples(const InputSpec& inputs, Task task, const Runner& model,
                                const std::filesystem::path& path) {
  const DatasetSpec& spec = inputs.dataset;
  const Selection selection{.samples = inputs.samples.value_or(default_samples),
                            .shuffle = spec.shuffle,
                            .seed = inputs.seed};
  TaskExamples examples{.dataset = open_dataset(spec.name, spec.options)};
  const std::vector<std::string>& classes = examples.dataset->classes();
  LoaderOptions options = loader_options(spec, path, task_needs(task), classes);
  examples.mapped = options.mapping.has_value();
  if (!holds_ready_inputs(*examples.dataset)) examples.preprocessing = options.preprocessing;
  examples.batch = batch_size(only_input(model.inputs()), options.batch);
  examples.class_names = names_by_label(classes, options.mapping);
  // Classes that are named and not mapped must be as many as the model's: that is checked later.
  if (examples.mapped || classes.empty()) options.model_labels = class_count(task, model);
  examples.loader = std::make_unique<Loader>(*examples.dataset,
                                             select_positions(examples.dataset->size(), selection),
                                             only_input(model.inputs()), options);
  return examples;
}

TaskExamples open_task_bank(InputSpec inputs, const std::string& split, Task task,
                            const Runner& model, const std::filesystem::path& path,
                            const TaskExamples& queries) {
  inputs.dataset.options.split = split;
  inputs.samples = all_samples;
  TaskExamples bank = open_task_examples(inputs, task, model, path);
  if (bank.class_names != queries.class_names)
    throw Error(
        fmt::format("[eval] --bank-split {}: its {} classes are not the {} of the samples, so "
                    "labels mean different things; say which is which with --label-mapping",
                    split, bank.class_names.size(), queries.class_names.size()));
  return bank;
}

}  // namespace vernier
