#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "vernier/runtime/open_runner.h"

namespace vernier::cli {

// How models are run, the same options for every command that runs one.
struct RuntimeOptions {
  std::string provider = "cpu";
  std::vector<std::string> provider_options;  // KEY=VALUE
  std::string optimize;                       // empty: the runner's own choice
  bool exact = false;
  int threads = 0;
};

// --ep --ep-option --optimize --exact --threads
void add_runtime_options(CLI::App& command, RuntimeOptions& options);

// For every kind of model; what is watched is left to the caller.
RunnerOptions runner_options(const RuntimeOptions& options);

}  // namespace vernier::cli
