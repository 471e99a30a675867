#include "vernier/installation.h"

#include <dlfcn.h>

#include <fstream>
#include <mutex>
#include <optional>
#include <string>

namespace vernier {

namespace fs = std::filesystem;

namespace {

std::mutex mutex;
std::optional<PythonEnvironment> loaded_by;

// The package folders of the base Python of a virtual environment; empty unless its pyvenv.cfg says
// `include-system-site-packages = true`. The base is given there as `home = /usr/bin`.
std::vector<fs::path> packages_of_base(const fs::path& prefix, const fs::path& version) {
  std::ifstream file(prefix / "pyvenv.cfg");
  fs::path home;
  bool included = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("home = ")) home = line.substr(7);
    if (line == "include-system-site-packages = true") included = true;
  }
  if (!included || home.empty()) return {};
  const fs::path base = home.parent_path();
  return {base / "lib" / version / "site-packages", base / "local/lib" / version / "dist-packages",
          base / "lib/python3/dist-packages"};
}

// The environment whose site-packages contains `folder`: PREFIX/lib/python3.11/site-packages
// belongs to PREFIX/bin/python3.11. Empty if there is none.
PythonEnvironment environment_around(fs::path folder) {
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.filename() != "site-packages" && folder.filename() != "dist-packages") continue;
    const fs::path versioned = folder.parent_path();
    const fs::path prefix = versioned.parent_path().parent_path();
    const fs::path program = prefix / "bin" / versioned.filename();
    std::vector<fs::path> folders = packages_of_base(prefix, versioned.filename());
    folders.insert(folders.begin(), folder);
    return {fs::exists(program) ? program : fs::path(), std::move(folders)};
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
