#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/task/judge.h"
#include "vernier/analysis/task/task.h"
#include "vernier/metrics/tokenise.h"

namespace vernier {

// What files of predictions are scored against. Arrays are named as read_array() takes them.
struct LabelFiles {
  TaskOptions task;
  // One array of classes [samples], or of maps [images, height, width] for segmentation. For
  // translation one or more sets of targets: token ids [sequences, tokens], or texts with a
  // sentence a line if the predictions are a text.
  std::vector<std::string> labels;
  // Embeddings that are searched instead of the samples' own, and their labels; may be empty.
  std::string bank, bank_labels;
  TokeniseOptions text;  // how sentences become tokens
};

// Whether the name is that of an array, not of a text.
bool names_array(std::string_view name);

// How well the predictions of a candidate, and of a reference, keep the labels. `reference` may be
// empty. Throws Error for files that the task cannot read.
TaskResult score_files(const std::string& reference, const std::string& candidate,
                       const LabelFiles& files, const JudgeOptions& judge = {});

}  // namespace vernier
