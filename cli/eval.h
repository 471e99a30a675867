#pragma once

#include <string>
#include <vector>

#include "cli/input_options.h"
#include "cli/model_argument.h"
#include "cli/output_options.h"
#include "cli/runtime_options.h"

namespace vernier::cli {

// The options of `vernier eval`, whatever its mode.
struct EvalOptions {
  std::string mode = "compare";
  std::vector<std::string> models;
  std::string reference;
  ModelIdOptions id;      // with the task
  std::string precision;  // empty: what the model is
  std::vector<std::string> fail_if;
  InputOptions input{.default_samples = 100};
  RuntimeOptions runtime;
  RuntimeOptions reference_runtime;
  OutputOptions output;
};

// Each mode in a file of its own: eval_compare.cpp.
int run_compare(const EvalOptions& options);

}  // namespace vernier::cli
