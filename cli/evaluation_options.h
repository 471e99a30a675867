#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "vernier/analysis/task/evaluate.h"

namespace vernier::cli {

// What scoring a task takes, with a model (`eval`) or without one (`score`).

// --verdict --resamples
void add_judgement_options(CLI::App& command, EvaluateOptions& options);

// --temperature --pooling
void add_embedding_options(CLI::App& command, KnnTask& task, std::string& pooling);

}  // namespace vernier::cli
