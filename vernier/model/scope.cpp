#include "vernier/model/scope.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <vector>

namespace vernier {
namespace {

// The metadata of PyTorch's newer exporter: a Python list of paths from the root inwards, the last
// of them the operation itself, as in "['', 'layer1', 'layer1.0', 'conv2d']".
constexpr std::string_view scopes_key = "pkg.torch.onnx.name_scopes";

std::vector<std::string> quoted_parts(std::string_view text) {
  std::vector<std::string> found;
  for (std::size_t begin = text.find('\''); begin != std::string_view::npos;) {
    const std::size_t end = text.find('\'', begin + 1);
    if (end == std::string_view::npos) break;
    found.emplace_back(text.substr(begin + 1, end - begin - 1));
    begin = text.find('\'', end + 1);
  }
  return found;
}

// A numbered child is printed with its parent in front, which may stand there on its own as well
// ("layer1/layer1.0") or not ("blocks.0", of a list that is never called).
std::string joined(const std::string& path, const std::string& parent, std::string_view part) {
  if (!parent.empty() && part.starts_with(parent + "."))
    return path + std::string(part.substr(parent.size()));
  return path.empty() ? std::string(part) : path + "." + std::string(part);
}

}  // namespace

std::string module_path_in_name(std::string_view name) {
  if (!name.starts_with('/')) return "";
  std::string path;
  std::string parent;
  for (std::size_t begin = 1; begin <= name.size();) {
    const std::size_t end = name.find('/', begin);
    if (end == std::string_view::npos) break;  // what is left is the operator
    const std::string_view part = name.substr(begin, end - begin);
    path = joined(path, parent, part);
    parent = part;
    begin = end + 1;
  }
  return path;
}

std::optional<std::string> module_path_in_metadata(const vernier_onnx::NodeProto& node) {
  for (const auto& entry : node.metadata_props()) {
    if (entry.key() != scopes_key) continue;
    const std::vector<std::string> scopes = quoted_parts(entry.value());
    if (scopes.size() < 2) return "";
    std::string path = scopes[scopes.size() - 2];
    std::ranges::replace(path, '@', '_');  // the second call of "relu" is "relu@1" there
    return path;
  }
  return std::nullopt;
}

std::string module_path(const vernier_onnx::NodeProto& node) {
  return module_path_in_metadata(node).value_or(module_path_in_name(node.name()));
}

}  // namespace vernier
