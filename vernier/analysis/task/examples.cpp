#include "vernier/analysis/task/examples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/data/dataset_samples.h"
#include "vernier/data/label_mapping.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::int64_t default_samples = 1000;

// The classes of a classifier's logits [samples, classes]; 0 if the model does not declare them.
std::int64_t class_count(const TaskOptions& task, const Runner& model) {
  if (task.task != Task::image_classification || model.outputs().empty()) return 0;
  const TensorSpec& output = model.outputs()[scored_output(model.outputs(), task.output)];
  const std::vector<Dim>& shape = output.shape;
  const bool logits = is_float(output.dtype) && shape.size() == 2 && !shape[1].is_dynamic();
  return logits ? shape[1].size : 0;
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

// Whether the first example is a model input already, not an image.
bool holds_ready_inputs(Dataset& dataset) {
  constexpr std::int64_t first = 0;
  return dataset.size() > 0 &&
         std::holds_alternative<Tensor>(dataset.read(std::span(&first, 1)).at(0).content);
}

// Recorded samples are identified by number alone: the examples must be taken in the order in which
// they were recorded. A recording that does not say its order is in the dataset's order.
Selection recorded_selection(Selection selection, const InputSpec& inputs, std::int64_t size,
                             std::int64_t batch, const std::filesystem::path& recording) {
  const auto fail = [&](const std::string& reason) {
    return Error(fmt::format("[task] {}: {}", recording.string(), reason));
  };
  const std::optional<bool> shuffle = inputs.dataset.shuffle;
  const auto order = recorded_order(recording);
  if (!order && shuffle.value_or(false))
    throw fail(
        "does not say in which order it was recorded, so --shuffle could not follow it; leave "
        "--shuffle out");
  if (!order) return selection;
  if (order->examples != size)
    throw fail(fmt::format(
        "was recorded from {} examples, the dataset has {}; give the same --dataset and --split",
        order->examples, size));
  if (order->first != 0) throw fail("was recorded with --sample-index; record it from the first");
  if (order->batch != batch)
    throw fail(
        fmt::format("was recorded with {} examples in each run, now there are {}; pass --batch {}",
                    order->batch, batch, order->batch));
  if (shuffle && (*shuffle != order->shuffled || (*shuffle && inputs.seed != order->seed)))
    throw fail(
        fmt::format("was recorded {}; leave out --shuffle, --no-shuffle and --seed to follow it",
                    describe_order(*order)));
  selection.shuffle = order->shuffled;
  selection.seed = order->seed;
  return selection;
}

// A subset is drawn from all examples: the first ones of a sorted folder are of one class.
Selection select(const InputSpec& inputs, std::int64_t size, std::int64_t batch,
                 const std::filesystem::path& recording) {
  Selection selection{.samples = inputs.samples.value_or(default_samples), .seed = inputs.seed};
  if (!recording.empty()) return recorded_selection(selection, inputs, size, batch, recording);
  selection.shuffle = inputs.dataset.shuffle.value_or(selection.samples < size);
  return selection;
}

}  // namespace

TaskExamples open_task_examples(const InputSpec& inputs, const TaskOptions& task,
                                const Runner& model, const std::filesystem::path& path,
                                const std::filesystem::path& recording) {
  DatasetSpec spec = inputs.dataset;
  TaskExamples examples{.dataset = open_dataset(spec.name, spec.options)};
  const std::vector<std::string>& classes = examples.dataset->classes();
  if (spec.label_mapping.empty() && task.task == Task::image_classification)
    spec.label_mapping = find_label_names(path, classes).value_or("");
  examples.mapping = spec.label_mapping;
  LoaderOptions options = loader_options(spec, path, task_needs(task.task), classes);
  if (!holds_ready_inputs(*examples.dataset)) examples.preprocessing = options.preprocessing;
  examples.batch = batch_size(only_input(model.inputs()), options.batch);
  examples.class_names = names_by_label(classes, options.mapping);
  // Classes that are named and not mapped must be as many as the model's; evaluate() checks that.
  if (options.mapping || classes.empty()) options.model_labels = class_count(task, model);
  const std::int64_t size = examples.dataset->size();
  examples.selection = select(inputs, size, examples.batch, recording);
  examples.loader =
      std::make_unique<Loader>(*examples.dataset, select_positions(size, examples.selection),
                               only_input(model.inputs()), options);
  return examples;
}

TaskExamples open_task_bank(InputSpec inputs, const std::string& split, const TaskOptions& task,
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

std::size_t scored_output(const std::vector<TensorSpec>& outputs, const std::string& name) {
  if (name.empty()) return 0;
  const auto found = std::ranges::find(outputs, name, &TensorSpec::name);
  if (found != outputs.end()) return found - outputs.begin();
  throw Error(fmt::format("[task] --output-name {}: no such output; there is {}", name,
                          fmt::join(names_of(outputs), ", ")));
}

}  // namespace vernier
