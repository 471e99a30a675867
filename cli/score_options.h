#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/output_options.h"
#include "vernier/analysis/task/evaluate.h"
#include "vernier/report/evaluate.h"

namespace vernier::cli {

// What the tasks of `vernier score` have in common: predictions, labels, judgement and output.
struct ScoreOptions {
  std::string predictions;
  std::vector<std::string> labels;
  std::string reference;
  EvaluateOptions evaluate;
  std::vector<std::string> fail_if;
  OutputOptions output;
};

void add_score_options(CLI::App& command, ScoreOptions& options,
                       const std::string& predictions_help, const std::string& labels_help);

// A task: what it measures, and how it scores a file of predictions.
struct ScoreTask {
  std::string name;
  std::vector<std::string> metrics;
  std::string class_metric;
  std::vector<std::pair<std::string, EvaluationSubject::Fact>> facts;
  std::function<TaskScores(const std::string& predictions)> score;
};

// Scores the predictions, and the reference's beside them; returns the exit code.
int run_score(const ScoreOptions& options, const ScoreTask& task);

// The file's name without its folders, as reports show it.
std::string shown_name(const std::string& argument);

}  // namespace vernier::cli
