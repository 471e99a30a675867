#include "vernier/analysis/task/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace vernier {
namespace {

constexpr std::array<std::string_view, 2> names{"image-feature-extraction", "image-classification"};

}  // namespace

std::optional<Task> parse_task(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Task>(found - names.begin());
}

std::string_view task_name(Task task) { return names[static_cast<std::size_t>(task)]; }

std::span<const std::string_view> task_names() { return names; }

TaskMetrics task_metrics(const TaskOptions& options) {
  switch (options.task) {
    case Task::image_feature_extraction: return {{"knn_top1", "knn_top5"}, "accuracy"};
    case Task::image_classification: break;
  }
  std::vector<std::string> metrics{"top1_accuracy"};
  if (options.top_k > 1) metrics.push_back(fmt::format("top{}_accuracy", options.top_k));
  return {std::move(metrics), "accuracy"};
}

}  // namespace vernier
