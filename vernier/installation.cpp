#include "vernier/installation.h"

#include <dlfcn.h>

namespace vernier {
namespace {

namespace fs = std::filesystem;

// The folder of this code: of the program, or of a library that has it inside.
fs::path own_folder() {
  Dl_info info{};
  std::error_code ignored;
  if (dladdr(reinterpret_cast<const void*>(&installed_file), &info) && info.dli_fname) {
    const fs::path path = fs::canonical(info.dli_fname, ignored);
    if (!ignored && path.extension() == ".so") return path.parent_path();
  }
  return fs::canonical("/proc/self/exe", ignored).parent_path();
}

}  // namespace

std::filesystem::path installed_file(std::string_view name) {
  const fs::path folder = own_folder();
  for (const fs::path& place : {folder, folder.parent_path() / "lib/vernier"})
    if (fs::exists(place / name)) return place / name;
  return {};
}

}  // namespace vernier
