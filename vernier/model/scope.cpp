#include "vernier/model/scope.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace vernier {
namespace {

// Metadata of PyTorch's newer exporter: a Python list of paths from the root inwards, the last of
// which is the operation itself, as in "['', 'layer1', 'layer1.0', 'conv2d']".
constexpr std::string_view scopes_key = "pkg.torch.onnx.name_scopes";
// A Python stack trace, the innermost call last: 'File "a/b.py", line 12, in forward'.
constexpr std::string_view trace_key = "pkg.torch.onnx.stack_trace";
constexpr std::string_view recalled_module_key = "vernier.module";
constexpr std::string_view recalled_source_key = "vernier.source";

std::optional<std::string_view> metadata(const NodeProto& node, std::string_view key) {
  for (const auto& entry : node.metadata_props())
    if (entry.key() == key) return entry.value();
  return std::nullopt;
}

void set_metadata(NodeProto& node, std::string_view key, const std::string& value) {
  auto* entry = node.add_metadata_props();
  entry->set_key(std::string(key));
  entry->set_value(value);
}

bool is_of_pytorch(std::string_view file) {
  return file.starts_with("torch/") || file.find("-packages/torch/") != std::string_view::npos;
}

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
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

// A numbered child is written with its parent's name in front. The parent may also be a part of its
// own ("layer1/layer1.0") or not ("blocks.0", in a ModuleList, which is never called).
std::string joined(const std::string& path, const std::string& parent, std::string_view part) {
  if (!parent.empty() && part.starts_with(parent + "."))
    return path + std::string(part.substr(parent.size()));
  return path.empty() ? std::string(part) : path + "." + std::string(part);
}

}  // namespace

std::string module_path_in_name(std::string_view name) {
  if (!name.starts_with('/')) return "";
  // ONNX Runtime appends the name of its fusion: "/fc/MatMul/MatMulAddFusion".
  if (name.ends_with("Fusion")) name = name.substr(0, name.rfind('/'));
  std::string path;
  std::string parent;
  for (std::size_t begin = 1; begin <= name.size();) {
    const std::size_t end = name.find('/', begin);
    if (end == std::string_view::npos) break;  // the last part is the operator
    const std::string_view part = name.substr(begin, end - begin);
    path = joined(path, parent, part);
    parent = part;
    begin = end + 1;
  }
  return path;
}

std::optional<std::string> module_path_in_metadata(const NodeProto& node) {
  const auto text = metadata(node, scopes_key);
  if (!text) return std::nullopt;
  const std::vector<std::string> scopes = quoted_parts(*text);
  if (scopes.size() < 2) return "";
  std::string path = scopes[scopes.size() - 2];
  std::ranges::replace(path, '@', '_');  // the metadata calls the second call of "relu" "relu@1"
  return path;
}

std::optional<std::string> recalled_module_path(const NodeProto& node) {
  const auto text = metadata(node, recalled_module_key);
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

std::string module_path(const NodeProto& node) {
  if (auto path = module_path_in_metadata(node)) return *std::move(path);
  if (auto path = recalled_module_path(node)) return *std::move(path);
  return module_path_in_name(node.name());
}

std::optional<SourceLine> innermost_frame(std::string_view trace) {
  constexpr std::string_view file_mark = "File \"", line_mark = "\", line ";
  std::optional<SourceLine> found;
  for (std::size_t at; (at = trace.find(file_mark)) != std::string_view::npos;) {
    trace.remove_prefix(at + file_mark.size());
    const std::size_t end = trace.find(line_mark);
    if (end == std::string_view::npos) break;
    SourceLine frame{.file = std::string(trace.substr(0, end))};
    trace.remove_prefix(end + line_mark.size());
    if (std::from_chars(trace.data(), trace.data() + trace.size(), frame.line).ec != std::errc() ||
        is_of_pytorch(frame.file) || frame.file.starts_with('<'))
      continue;
    const std::size_t text = trace.find('\n');
    const std::string_view next = text == trace.npos ? "" : trace.substr(text + 1);
    if (!trimmed(next).starts_with(file_mark))
      frame.text = trimmed(next.substr(0, next.find('\n')));
    found = std::move(frame);
  }
  return found;
}

std::string source_line(const NodeProto& node) {
  if (const auto trace = metadata(node, trace_key)) {
    const auto frame = innermost_frame(*trace);
    return frame ? fmt::format("{}:{}", frame->file.substr(frame->file.rfind('/') + 1), frame->line)
                 : "";
  }
  return std::string(metadata(node, recalled_source_key).value_or(""));
}

TensorOrigins tensor_origins(const GraphProto& graph) {
  TensorOrigins origins;
  for (const auto& node : graph.node())
    if (const auto module = module_path_in_metadata(node))
      for (const std::string& output : node.output())
        origins[output] = {*module, source_line(node)};
  return origins;
}

void recall_origins(GraphProto& graph, const TensorOrigins& origins) {
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
