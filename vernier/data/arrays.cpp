#include "vernier/data/arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/error.h"
#include "vernier/tensor/npy.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

Arrays npy_files(const fs::path& folder, std::vector<std::string> names) {
  return {std::move(names), [folder](const std::string& name) {
            Tensor tensor = read_npy(folder / (name + ".npy"));
            tensor.name = name;
            return tensor;
          }};
}

Arrays npz_arrays(const fs::path& path) {
  const auto reader = std::make_shared<const NpzReader>(path);
  return {reader->names(), [reader](const std::string& name) { return reader->read(name); }};
}

std::vector<std::string> npy_names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".npy") names.push_back(entry.path().stem());
  std::ranges::sort(names);
  return names;
}

}  // namespace

Arrays open_arrays(const fs::path& path) {
  if (!fs::exists(path))
    throw Error(fmt::format("[arrays] {}: no such file or folder", path.string()));
  if (fs::is_directory(path)) {
    std::vector<std::string> names = npy_names(path);
    if (names.empty())
      throw Error(fmt::format("[arrays] {}: no .npy files in this folder", path.string()));
    return npy_files(path, std::move(names));
  }
  if (path.extension() == ".npy") return npy_files(path.parent_path(), {path.stem()});
  if (path.extension() == ".npz") {
    Arrays arrays = npz_arrays(path);
    if (arrays.names.empty())
      throw Error(
          fmt::format("[arrays] {}: holds no array; save it again, with "
                      "numpy.savez(FILE, NAME=ARRAY)",
                      path.string()));
    return arrays;
  }
  throw Error(fmt::format("[arrays] {}: expected .npy, .npz or a folder of .npy files, found '{}'",
                          path.string(), path.extension().string()));
}

Tensor read_array(const std::string& argument) {
  const std::size_t colon = fs::exists(argument) ? std::string::npos : argument.rfind(':');
  const Arrays arrays = open_arrays(argument.substr(0, colon));
  const std::vector<std::string>& names = arrays.names;
  const std::string known = fmt::format("{}", fmt::join(names, ", "));
  if (colon == std::string::npos && names.size() != 1)
    throw Error(fmt::format("[arrays] {}: holds {} arrays ({}); name one as {}:NAME", argument,
                            names.size(), known, argument));
  const std::string name = colon == std::string::npos ? names.front() : argument.substr(colon + 1);
  if (std::ranges::find(names, name) == names.end())
    throw Error(fmt::format("[arrays] {}: no array '{}' among {}", argument, name, known));
  return arrays.read(name);
}

}  // namespace vernier
