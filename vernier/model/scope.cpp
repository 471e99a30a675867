#include "vernier/model/scope.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <vector>

namespace vernier {
namespace {

// The metadata of PyTorch's newer exporter: a Python list of paths from the root inwards, the last
// of them the operation itself, as in "['', 'layer1', 'layer1.0', 'conv2d']".
constexpr std::string_view scopes_key = "pkg.torch.onnx.name_scopes";
// A Python stack trace, the innermost call last: 'File "a/b.py", line 12, in forward'.
constexpr std::string_view trace_key = "pkg.torch.onnx.stack_trace";
constexpr std::string_view recalled_module_key = "vernier.module";
constexpr std::string_view recalled_source_key = "vernier.source";

std::optional<std::string_view> metadata(const vernier_onnx::NodeProto& node,
                                         std::string_view key) {
  for (const auto& entry : node.metadata_props())
    if (entry.key() == key) return entry.value();
  return std::nullopt;
}

void set_metadata(vernier_onnx::NodeProto& node, std::string_view key, const std::string& value) {
  auto* entry = node.add_metadata_props();
  entry->set_key(std::string(key));
  entry->set_value(value);
}

bool is_of_pytorch(std::string_view file) {
  return file.starts_with("torch/") || file.find("-packages/torch/") != std::string_view::npos;
}

// Of the last call in the trace that is not PyTorch's own.
std::string innermost_line(std::string_view trace) {
  constexpr std::string_view file_mark = "File \"", line_mark = "\", line ";
  std::string found;
  for (std::size_t at; (at = trace.find(file_mark)) != std::string_view::npos;) {
    trace.remove_prefix(at + file_mark.size());
    const std::size_t end = trace.find(line_mark);
    if (end == std::string_view::npos) break;
    const std::string_view file = trace.substr(0, end);
    trace.remove_prefix(end + line_mark.size());
    const std::string_view line = trace.substr(0, trace.find_first_not_of("0123456789"));
    if (is_of_pytorch(file) || file.starts_with('<')) continue;
    found = std::string(file.substr(file.rfind('/') + 1)) + ":" + std::string(line);
  }
  return found;
}

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
  // ONNX Runtime puts its fusion behind the operator: "/fc/MatMul/MatMulAddFusion".
  if (name.ends_with("Fusion")) name = name.substr(0, name.rfind('/'));
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
  const auto text = metadata(node, scopes_key);
  if (!text) return std::nullopt;
  const std::vector<std::string> scopes = quoted_parts(*text);
  if (scopes.size() < 2) return "";
  std::string path = scopes[scopes.size() - 2];
  std::ranges::replace(path, '@', '_');  // the second call of "relu" is "relu@1" there
  return path;
}

std::optional<std::string> recalled_module_path(const vernier_onnx::NodeProto& node) {
  const auto text = metadata(node, recalled_module_key);
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

std::string module_path(const vernier_onnx::NodeProto& node) {
  if (auto path = module_path_in_metadata(node)) return *std::move(path);
  if (auto path = recalled_module_path(node)) return *std::move(path);
  return module_path_in_name(node.name());
}

std::string source_line(const vernier_onnx::NodeProto& node) {
  if (const auto trace = metadata(node, trace_key)) return innermost_line(*trace);
  return std::string(metadata(node, recalled_source_key).value_or(""));
}

TensorOrigins tensor_origins(const vernier_onnx::GraphProto& graph) {
  TensorOrigins origins;
  for (const auto& node : graph.node())
    if (const auto module = module_path_in_metadata(node))
      for (const std::string& output : node.output())
        origins[output] = {*module, source_line(node)};
  return origins;
}

void recall_origins(vernier_onnx::GraphProto& graph, const TensorOrigins& origins) {
  for (auto& node : *graph.mutable_node()) {
    if (node.output_size() == 0 || metadata(node, scopes_key) ||
        metadata(node, recalled_module_key))
      continue;
    const auto known = origins.find(node.output(0));
    if (known == origins.end()) continue;
    set_metadata(node, recalled_module_key, known->second.module);
    set_metadata(node, recalled_source_key, known->second.source);
  }
}

}  // namespace vernier
