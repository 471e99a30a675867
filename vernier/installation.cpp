#include "vernier/installation.h"

#include <dlfcn.h>

namespace vernier {

namespace fs = std::filesystem;

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

}  // namespace vernier
