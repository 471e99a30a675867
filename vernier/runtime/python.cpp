#include "vernier/runtime/python.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "vernier/error.h"
#include "vernier/installation.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Every python3 on PATH: the first one is often a bare one of a version manager.
std::vector<std::string> interpreters() {
  std::vector<std::string> found;
  std::istringstream path(environment("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) {
    const fs::path program = fs::path(folder) / "python3";
    if (access(program.c_str(), X_OK) == 0) found.push_back(program.string());
  }
  return found;
}

// Asks whether it could be imported, which takes milliseconds; importing it takes seconds.
bool has_torch(const std::string& program) {
  const std::string question =
      "import importlib.util as u, sys; sys.exit(3 if u.find_spec('torch') is None else 0)";
  return run_process({program, "-c", question}).exit_code == 0;
}

std::string package_folder() {
  if (const std::string chosen = environment("VERNIER_PYTHONPATH"); !chosen.empty()) return chosen;
  if (const fs::path installed = installed_file("python"); !installed.empty())
    return installed.string();
  throw Error(
      "[export] the Python package vernier_export is not found; set VERNIER_PYTHONPATH to the "
      "python folder of Vernier's sources");
}

}  // namespace

Python find_python(const std::string& chosen) {
  if (!chosen.empty()) {
    if (run_process({chosen, "-c", ""}).exit_code != 0)
      throw Error(fmt::format("[export] --python {}: it does not run", chosen));
    return {chosen};
  }
  const std::vector<std::string> programs = interpreters();
  for (const std::string& program : programs)
    if (has_torch(program)) return {program};
  throw Error(fmt::format(
      "[export] no python3 on PATH has PyTorch ({} tried); run `scripts/setup.sh torch`, or choose "
      "an interpreter that has it with --python",
      programs.size()));
}

ProcessResult run_exporter(const Python& python, const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {python.program, "-B", "-m", "vernier_export"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const std::string before = environment("PYTHONPATH");
  const std::string added = package_folder();
  return run_process(command, {{"PYTHONPATH", before.empty() ? added : added + ":" + before}});
}

}  // namespace vernier
