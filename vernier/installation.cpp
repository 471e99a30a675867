#include "vernier/installation.h"

#include <dlfcn.h>

namespace vernier {
namespace {

namespace fs = std::filesystem;

// The folder of libvernier.so, whoever loaded it.
fs::path own_folder() {
  Dl_info info{};
  std::error_code ignored;
  if (!dladdr(reinterpret_cast<const void*>(&installed_file), &info)) return {};
  return fs::canonical(info.dli_fname, ignored).parent_path();
}

}  // namespace

std::filesystem::path installed_file(std::string_view name) {
  const fs::path path = own_folder() / "vernier" / name;
  return fs::exists(path) ? path : fs::path();
}

}  // namespace vernier
