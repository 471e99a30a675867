#include "cli/model_argument.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/error.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

// "role=path" is the path of one component of a composite model.
std::string without_role(const std::string& argument) {
  const auto equals = argument.find('=');
  if (equals == std::string::npos || fs::exists(argument)) return argument;
  return argument.substr(equals + 1);
}

[[noreturn]] void refuse_composite(const std::string& subject,
                                   const std::vector<std::string>& components) {
  std::vector<std::string> commands;
  for (const std::string& component : components)
    commands.push_back(fmt::format("-m {}", without_role(component)));
  throw Error(fmt::format(
      "[model] {}: a composite model of {} components ({}); compare them one by one, with {}",
      subject, components.size(), fmt::join(components, ", "), fmt::join(commands, ", then ")));
}

std::vector<std::string> onnx_files(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".onnx") files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

ModelArgument resolve_folder(const fs::path& folder) {
  if (fs::exists(folder / "model.json") && fs::exists(folder / "model.onnx")) {
    const fs::path reference = folder / "model.pt";
    return {folder / "model.onnx", fs::exists(reference) ? reference : fs::path()};
  }
  const std::vector<std::string> files = onnx_files(folder);
  if (files.empty())
    throw Error(
        fmt::format("[model] {}: no .onnx file in this folder; name the file", folder.string()));
  if (files.size() > 1) refuse_composite(folder.string(), files);
  return {files.front(), {}};
}

}  // namespace

ModelArgument resolve_model_argument(const std::vector<std::string>& arguments) {
  if (arguments.size() > 1) refuse_composite("-m", arguments);
  const fs::path path = without_role(arguments.front());
  return fs::is_directory(path) ? resolve_folder(path) : ModelArgument{path, {}};
}

}  // namespace vernier::cli
