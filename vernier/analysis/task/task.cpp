#include "vernier/analysis/task/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace vernier {
namespace {

constexpr std::array<std::string_view, 5> names{"image-feature-extraction", "image-classification",
                                                "image-segmentation", "text-generation",
                                                "translation"};

TaskMetrics classification_metrics(std::int64_t top_k) {
  std::vector<std::string> metrics{"top1_accuracy"};
  if (top_k > 1) metrics.push_back(fmt::format("top{}_accuracy", top_k));
  return {std::move(metrics), "accuracy"};
}

}  // namespace

std::optional<Task> parse_task(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Task>(found - names.begin());
}

std::span<const std::string_view> task_names() { return names; }

Needs task_needs(Task task) {
  const bool one_label =
      task == Task::image_feature_extraction || task == Task::image_classification;
  return one_label ? Needs::label : Needs::target;
}

TaskMetrics task_metrics(const TaskOptions& options) {
  switch (options.task) {
    case Task::image_feature_extraction:
      return {{"knn_top1_accuracy", "knn_top5_accuracy"}, "accuracy"};
    case Task::image_classification: return classification_metrics(options.top_k);
    case Task::image_segmentation: return {{"mean_iou", "overall_accuracy"}, "iou"};
    case Task::text_generation:
    case Task::translation: break;
  }
  return {{"bleu", "token_accuracy"}, ""};
}

}  // namespace vernier
