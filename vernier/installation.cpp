#include "vernier/installation.h"

#include <dlfcn.h>

#include <mutex>
#include <optional>

namespace vernier {

namespace fs = std::filesystem;

namespace {

std::mutex mutex;
std::optional<PythonEnvironment> loaded_by;

// PREFIX/lib/python3.11/site-packages belongs to PREFIX/bin/python3.11.
PythonEnvironment environment_around(fs::path folder) {
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.filename() != "site-packages" && folder.filename() != "dist-packages") continue;
    const fs::path versioned = folder.parent_path();
    const fs::path program = versioned.parent_path().parent_path() / "bin" / versioned.filename();
    return {fs::exists(program) ? program : fs::path(), {folder}};
  }
  return {};
}

}  // namespace

fs::path installation_folder() {
  Dl_info info{};
  std::error_code ignored;
  if (!dladdr(reinterpret_cast<const void*>(&installed_file), &info)) return {};
  return fs::canonical(info.dli_fname, ignored).parent_path();
}

fs::path installed_file(std::string_view name) {
  const fs::path path = installation_folder() / "vernier" / name;
  return fs::exists(path) ? path : fs::path();
}

PythonEnvironment python_environment() {
  const std::lock_guard lock(mutex);
  return loaded_by ? *loaded_by : environment_around(installation_folder());
}

void set_python_environment(PythonEnvironment environment) {
  const std::lock_guard lock(mutex);
  loaded_by = std::move(environment);
}

}  // namespace vernier
