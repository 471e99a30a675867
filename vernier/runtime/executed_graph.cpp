#include "vernier/runtime/executed_graph.h"

#include <fmt/format.h>
#include <onnxruntime_cxx_api.h>
#include <unistd.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <regex>
#include <unordered_map>
#include <unordered_set>

#include "vernier/model/graph.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/runtime/ort_session.h"
#include "vernier/tensor/mapped_file.h"
#include "vernier/tensor/temporary_folder.h"

namespace vernier {
namespace {

using Names = std::unordered_set<std::string>;

ModelProto read_proto(const std::filesystem::path& path, const std::string& name) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return std::move(
      Model::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, {}, name).proto());
}

bool is_float16(const ValueInfoProto& value) {
  return value.type().tensor_type().elem_type() == TensorProto::FLOAT16;
}

bool is_float16(const NodeProto& node) {
  return std::ranges::any_of(node.attribute(), [](const AttributeProto& attribute) {
    const bool named = attribute.name() == "to" || attribute.name() == "dtype";
    return (named && attribute.i() == TensorProto::FLOAT16) ||
           attribute.t().data_type() == TensorProto::FLOAT16;
  });
}

bool has_float16(const GraphProto& graph) {
  const auto any = [](const auto& values) {
    return std::ranges::any_of(values, [](const auto& value) { return is_float16(value); });
  };
  return any(graph.input()) || any(graph.output()) || any(graph.value_info()) ||
         any(graph.node()) || std::ranges::any_of(graph.initializer(), [](const auto& weight) {
           return weight.data_type() == TensorProto::FLOAT16;
         });
}

// ONNX Runtime names the float32 counterpart of a float16 tensor x "InsertedPrecisionFreeCast_x",
// and appends "_token_N" if that name is taken.
constexpr std::string_view counterpart_prefix = "InsertedPrecisionFreeCast_";

std::string counterpart_of(const std::string& name, const Names& tensors) {
  static const std::regex pattern("(.*?)(_token_\\d+)?");
  const std::string rest = name.substr(counterpart_prefix.size());
  std::smatch match;
  std::regex_match(rest, match, pattern);
  const std::string whole = match[1].str() + match[2].str();
  return tensors.contains(whole) ? whole : match[1].str();
}

using Renames = std::unordered_map<std::string, std::string>;

template <typename Values>
void rename_all(Values& values, const Renames& renames) {
  for (std::string& name : values)
    if (const auto found = renames.find(name); found != renames.end()) name = found->second;
}

void rename(GraphProto& graph, const Renames& renames) {
  for (NodeProto& node : *graph.mutable_node()) {
    rename_all(*node.mutable_input(), renames);
    rename_all(*node.mutable_output(), renames);
    for_each_subgraph(node, [&](GraphProto& inner, const auto&) { rename(inner, renames); });
  }
  // The recorded types are those of the float16 tensors.
  graph.clear_value_info();
}

Names outputs_of(const GraphProto& graph) {
  Names names;
  for (const NodeProto& node : graph.node())
    names.insert(node.output().begin(), node.output().end());
  return names;
}

Names all_outputs(const GraphProto& graph) {
  Names names;
  for (const Subgraph& subgraph : all_subgraphs(graph)) names.merge(outputs_of(*subgraph.graph));
  return names;
}

// New names for float32 counterparts that the graph's nodes write. A counterpart takes the name of
// its float16 tensor if that tensor is absent from this graph and the graphs around it. A
// counterpart whose name is also used in a surrounding graph gets a new one: ONNX Runtime writes
// such duplicates, which ONNX forbids.
Renames new_names(const GraphProto& graph, const Names& tensors, const Names& around) {
  const Names here = outputs_of(graph);
  Names taken = here;
  for (const TensorProto& weight : graph.initializer()) taken.insert(weight.name());
  for (const ValueInfoProto& input : graph.input()) taken.insert(input.name());
  const auto free = [&](const std::string& name) {
    return !taken.contains(name) && !around.contains(name);
  };
  Renames renames;
  for (const std::string& name : here) {
    if (!is_float32_counterpart(name)) continue;
    const std::string original = counterpart_of(name, tensors);
    if (tensors.contains(original) && free(original)) renames.emplace(name, original);
    if (renames.contains(name) || !around.contains(name)) continue;
    int number = 1;
    while (!free(fmt::format("{}_{}", name, number))) ++number;
    renames.emplace(name, fmt::format("{}_{}", name, number));
  }
  return renames;
}

void restore_names(GraphProto& graph, const Names& tensors, Names around) {
  if (const Renames renames = new_names(graph, tensors, around); !renames.empty())
    rename(graph, renames);
  around.merge(outputs_of(graph));
  for (NodeProto& node : *graph.mutable_node())
    for_each_subgraph(
        node, [&](GraphProto& inner, const auto&) { restore_names(inner, tensors, around); });
}

// ONNX Runtime imports every domain that this process has ever registered, including ours, so the
// written graph would depend on what ran before.
void drop_unused_imports(Model& model) {
  Names used = {"", "ai.onnx"};
  for (const Subgraph& subgraph : all_subgraphs(model.graph()))
    for (const NodeProto& node : subgraph.graph->node()) used.insert(node.domain());
  auto& imports = *model.proto().mutable_opset_import();
  imports.erase(std::remove_if(imports.begin(), imports.end(),
                               [&](const auto& each) { return !used.contains(each.domain()); }),
                imports.end());
}

}  // namespace

bool runs_another_graph(const Model& model) {
  if (model.proto().functions_size() > 0) return true;
  return std::ranges::any_of(all_subgraphs(model.graph()),
                             [](const Subgraph& subgraph) { return has_float16(*subgraph.graph); });
}

Model executed_graph(const Model& model, const OrtOptions& options, Optimization level) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "executed.onnx";
  Ort::SessionOptions session = session_options(options, level);
  session.SetOptimizedModelFilePath(file.c_str());
  session.SetLogSeverityLevel(ORT_LOGGING_LEVEL_ERROR);
  session.AddConfigEntry("session.disable_prepacking", "1");
  // Without optimisation no weight changes, and the written graph refers to the weights as the
  // model does.
  const bool by_reference = level == Optimization::disabled;
  if (by_reference)
    create_session_by_reference(model, session);
  else
    create_session(model, session);
  Model executed =
      by_reference ? model.with(read_proto(file, model.name())) : Model::load_derived(file, model);
  restore_names(executed.graph(), all_outputs(model.graph()), {});
  drop_unused_imports(executed);
  return executed;
}

bool is_float32_counterpart(const std::string& tensor) {
  return tensor.starts_with(counterpart_prefix);
}

Model optimize(const Model& model, Optimization level) { return executed_graph(model, {}, level); }

}  // namespace vernier
