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

class NpyFiles : public Arrays {
 public:
  NpyFiles(fs::path folder, std::vector<std::string> names)
      : folder_(std::move(folder)), names_(std::move(names)) {}

  const std::vector<std::string>& names() const override { return names_; }
  Tensor read(const std::string& name) const override {
    Tensor tensor = read_npy(folder_ / (name + ".npy"));
    tensor.name = name;
    return tensor;
  }

 private:
  fs::path folder_;
  std::vector<std::string> names_;
};

class NpzArrays : public Arrays {
 public:
  explicit NpzArrays(const fs::path& path) : reader_(path) {}
  const std::vector<std::string>& names() const override { return reader_.names(); }
  Tensor read(const std::string& name) const override { return reader_.read(name); }

 private:
  NpzReader reader_;
};

std::vector<std::string> npy_names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".npy") names.push_back(entry.path().stem());
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::unique_ptr<Arrays> open_arrays(const fs::path& path) {
  if (!fs::exists(path))
    throw Error(fmt::format("[arrays] {}: no such file or folder; check the path", path.string()));
  if (fs::is_directory(path)) {
    std::vector<std::string> names = npy_names(path);
    if (names.empty())
      throw Error(fmt::format("[arrays] {}: no .npy files in this folder", path.string()));
    return std::make_unique<NpyFiles>(path, std::move(names));
  }
  if (path.extension() == ".npy")
    return std::make_unique<NpyFiles>(path.parent_path(), std::vector<std::string>{path.stem()});
  if (path.extension() == ".npz") return std::make_unique<NpzArrays>(path);
  throw Error(fmt::format("[arrays] {}: expected .npy, .npz or a folder of .npy files, found '{}'",
                          path.string(), path.extension().string()));
}

Tensor read_array(const std::string& argument) {
  const std::size_t colon = fs::exists(argument) ? std::string::npos : argument.rfind(':');
  const auto arrays = open_arrays(argument.substr(0, colon));
  const std::vector<std::string>& names = arrays->names();
  const std::string known = fmt::format("{}", fmt::join(names, ", "));
  if (colon == std::string::npos && names.size() != 1)
    throw Error(fmt::format("[arrays] {}: holds {} arrays ({}); name one as {}:NAME", argument,
                            names.size(), known, argument));
  const std::string name = colon == std::string::npos ? names.front() : argument.substr(colon + 1);
  if (std::ranges::find(names, name) == names.end())
    throw Error(fmt::format("[arrays] {}: no array '{}' among {}", argument, name, known));
  return arrays->read(name);
}

}  // namespace vernier
