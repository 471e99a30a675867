#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "python/binding/python_model.h"
#include "vernier/report/document.h"

namespace vernier::binding {

// The result of a command.
struct Report {
  int exit_code = 0;
  Document document;
  std::string json;                   // as written by -f json
  std::string graph, detail;          // JSON for the HTML page
  std::vector<std::string> messages;  // warnings
};

// Runs `vernier ARGUMENTS` on a separate thread, without the GIL; the thread has ended when this
// returns. `progress(label, done, total)` may be None; if it returns a false value other than None,
// the work stops. Throws the command's Error, or what Python's signal handlers raise: Ctrl-C raises
// KeyboardInterrupt, even while a model runs.
Report run_command(const std::vector<std::string>& arguments, nanobind::object progress,
                   const std::vector<const PythonModel*>& models);

}  // namespace vernier::binding
