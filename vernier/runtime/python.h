#pragma once

#include <string>
#include <vector>

#include "vernier/runtime/process.h"

namespace vernier {

// An interpreter that has PyTorch.
struct Python {
  std::string program;
};

// The one that was chosen, else the first python3 on PATH that has PyTorch. Throws Error if the
// chosen one does not run, or none has it.
Python find_python(const std::string& chosen);

// Runs the package vernier_export, which came with the program or is where VERNIER_PYTHONPATH says.
ProcessResult run_exporter(const Python& python, const std::vector<std::string>& arguments);

}  // namespace vernier
