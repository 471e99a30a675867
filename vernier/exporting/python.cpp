#include "vernier/exporting/python.h"

#include <fmt/format.h>
#include <unistd.h>

#include <sstream>
#include <vector>

#include "vernier/error.h"
#include "vernier/exporting/process.h"
#include "vernier/installation.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

// The interpreters to try, in the order of find_python(). All of PATH is searched, because the
// first python3 is often a version manager's without packages.
std::vector<std::string> interpreters() {
  std::vector<std::string> found;
  const auto add = [&](const fs::path& program) {
    if (access(program.c_str(), X_OK) == 0) found.push_back(program.string());
  };
  add(python_environment().program);
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const std::string folder = environment_variable(variable); !folder.empty())
      add(fs::path(folder) / "bin" / "python");
  std::istringstream path(environment_variable("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) add(fs::path(folder) / "python3");
  return found;
}

// Whether the interpreter finds the module outside the current folder. Finding it takes
// milliseconds; importing it would take seconds.
bool has_module(const std::string& program, const std::string& module) {
  const std::string question =
      "import sys; sys.path = [p for p in sys.path if p]; import importlib.util as u; "
      "sys.exit(3 if u.find_spec(sys.argv[1]) is None else 0)";
  return run_process({program, "-c", question, module}).exit_code == 0;
}

void require_runs(const std::string& area, const std::string& program) {
  if (run_process({program, "-c", ""}).exit_code != 0)
    throw Error(fmt::format("{} --python {}: it does not run", area, program));
}

}  // namespace

std::string find_python(const std::string& area, const std::string& chosen) {
  if (!chosen.empty()) {
    require_runs(area, chosen);
    return chosen;
  }
  const std::vector<std::string> programs = interpreters();
  for (const std::string& program : programs)
    if (has_module(program, "torch")) return program;
  throw Error(fmt::format(
      "{} no python3 on PATH has PyTorch ({} tried); install it (pip install torch), or choose an "
      "interpreter that has it with --python",
      area, programs.size()));
}

std::string find_python_with(const std::string& module, const std::string& area,
                             const std::string& chosen) {
  if (!chosen.empty()) require_runs(area, chosen);
  const std::vector<std::string> programs =
      chosen.empty() ? interpreters() : std::vector<std::string>{chosen};
  for (const std::string& program : programs)
    if (has_module(program, module)) return program;
  throw Error(fmt::format(
      "{} the Python package '{}' is needed, and {}; install it, or choose an interpreter that has "
      "it with --python",
      area, module,
      chosen.empty() ? fmt::format("no python3 on PATH has it ({} tried)", programs.size())
                     : fmt::format("{} has it not", chosen)));
}

fs::path python_packages(const std::string& area) {
  if (const std::string chosen = environment_variable("VERNIER_PYTHONPATH"); !chosen.empty())
    return chosen;
  if (const fs::path installed = installed_file("python"); !installed.empty()) return installed;
  throw Error(fmt::format(
      "{} Vernier's Python packages are not found; set VERNIER_PYTHONPATH to the python folder of "
      "its sources",
      area));
}

}  // namespace vernier
