#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "python/binding/python_model.h"
#include "vernier/report/document.h"

namespace vernier::binding {

// What a command would have printed.
struct Report {
  int exit_code = 0;
  Document document;
  std::string json;                   // the bytes of -f json
  std::string graph, detail;          // what the page shows besides, as JSON
  std::vector<std::string> messages;  // warnings
};

// Runs a command as `vernier ARGUMENTS` does, without the GIL, on a thread of its own that is gone
// when this returns. `progress(label, done, total)` may be None; a false value ends the work.
// Throws Error as the command does, and what Python's signal handlers raise: Ctrl-C is
// KeyboardInterrupt, also while a model runs.
Report run_command(const std::vector<std::string>& arguments, nanobind::object progress,
                   const std::vector<const PythonModel*>& models);

}  // namespace vernier::binding
