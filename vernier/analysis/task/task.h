#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/task/scores.h"
#include "vernier/data/loader.h"
#include "vernier/metrics/pooling.h"

namespace vernier {

// What a model is for, by Hugging Face's names.
enum class Task {
  image_feature_extraction,
  image_classification,
  image_segmentation,
  text_generation,
  translation,
};

std::optional<Task> parse_task(std::string_view name);
std::span<const std::string_view> task_names();

struct TaskOptions {
  Task task = Task::image_classification;
  std::string output;                         // the output to score; empty: the first
  std::int64_t top_k = 5;                     // for classifiers
  KnnOptions knn;                             // for embeddings
  std::optional<Pooling> pooling;             // nullopt: by the output's shape
  std::int64_t classes = 0;                   // for segmentation; 0: by the logits or maps
  std::optional<std::int64_t> ignored_label;  // pixels or tokens with it are left out
  BleuOptions bleu;
};

// What an example needs, besides its input, to be scored.
Needs task_needs(Task task);

// The names of a task's metrics, known before anything has been scored.
struct TaskMetrics {
  std::vector<std::string> metrics;
  std::string class_metric;  // empty if the task has no classes
};
TaskMetrics task_metrics(const TaskOptions& options);

}  // namespace vernier
