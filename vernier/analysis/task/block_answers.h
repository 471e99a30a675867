#pragma once

#include <optional>
#include <string>

#include "vernier/analysis/task/predictions.h"
#include "vernier/data/loader.h"

namespace vernier {

// The answers of both models to one block of examples: all that an evaluation keeps of it.
struct BlockAnswers {
  explicit BlockAnswers(const TaskOptions& task = {}) : reference(task), candidate(task) {}

  BlockReport report;
  bool is_run = false;  // false if no example of the block can be used
  Predictions reference, candidate;
  std::int64_t compared = 0, changed = 0;  // pixels or tokens
  std::optional<double> alone_db;          // SQNR of its answers against those to single examples
};

template <typename Archive>
void fields(Archive& archive, BlockReport& report) {
  archive(report.unreadable, report.without_label, report.unknown_labels, report.problems,
          report.labels, report.positions, report.used);
}

template <typename Archive>
void fields(Archive& archive, ClassPixels& pixels) {
  archive(pixels.intersection, pixels.predicted, pixels.labelled);
}

template <typename Archive>
void fields(Archive& archive, ImagePixels& image) {
  archive(image.classes, image.ignored, image.labels_outside);
}

template <typename Archive>
void fields(Archive& archive, SequencePair& pair) {
  archive(pair.prediction, pair.targets);
}

template <typename Archive>
void fields(Archive& archive, BlockAnswers& block) {
  archive(block.report, block.is_run, block.reference, block.candidate, block.compared,
          block.changed, block.alone_db);
}

}  // namespace vernier
