#include "vernier/report/graph_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "vernier/json.h"
#include "vernier/model/index.h"
#include "vernier/model/scope.h"
#include "vernier/report/json.h"
#include "vernier/report/source_lines.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view trace_key = "pkg.torch.onnx.stack_trace";
constexpr int most_numbers = 16;       // shown of an attribute's list
constexpr std::size_t most_text = 80;  // bytes shown of an attribute's string

template <typename Values>
std::string list_text(const Values& values) {
  const auto count = std::min<int>(values.size(), most_numbers);
  return fmt::format("[{}{}]", fmt::join(values.begin(), values.begin() + count, ", "),
                     values.size() > count ? ", …" : "");
}

// Empty for subgraphs, which are listed separately.
std::string attribute_text(const AttributeProto& attribute) {
  using Attribute = AttributeProto;
  switch (attribute.type()) {
    case Attribute::INT: return std::to_string(attribute.i());
    case Attribute::FLOAT: return fmt::format("{}", attribute.f());
    case Attribute::STRING: return attribute.s().substr(0, most_text);
    case Attribute::INTS: return list_text(attribute.ints());
    case Attribute::FLOATS: return list_text(attribute.floats());
    case Attribute::STRINGS: return list_text(attribute.strings());
    case Attribute::TENSOR: return fmt::format("tensor {}", list_text(attribute.t().dims()));
    case Attribute::GRAPH:
    case Attribute::GRAPHS: return "";
    default: return "…";
  }
}

class Writer {
 public:
  explicit Writer(const ModelIndex& index) : index_(index) {}

  Json write() {
    for (std::size_t i = 0; i < index_.graphs().size(); ++i) add_graph(index_.graphs()[i], i);
    Json weights = Json::array();
    for (const Weight& weight : index_.weights())
      if (const auto known = tensors_.find(weight.graph->label(weight.name));
          known != tensors_.end())
        weights.push_back(known->second);
    return {{"tensors", std::move(names_)},  {"types", std::move(types_)},
            {"weights", std::move(weights)}, {"graphs", std::move(graphs_)},
            {"nodes", std::move(nodes_)},    {"sources", sources_.json<Json>()}};
  }

 private:
  // The index of a tensor. A name that the graph does not define belongs to a surrounding graph.
  std::size_t tensor(const GraphIndex& graph, const std::string& name) {
    const GraphIndex* home = &graph;
    while (home->outer() && !home->defines(name)) home = home->outer();
    const std::string label = home->label(name);
    const auto [entry, added] = tensors_.emplace(label, tensors_.size());
    if (!added) return entry->second;
    names_.push_back(label);
    std::string type;
    if (const auto dtype = home->dtype(name)) type = dtype_name(*dtype);
    if (const auto shape = home->declared_shape(name))
      type += (type.empty() ? "" : " ") + shape_text(*shape);
    if (!type.empty()) types_[std::to_string(entry->second)] = type;
    return entry->second;
  }

  static std::string shape_text(const Shape& shape) {
    std::vector<std::string> dims;
    for (const auto dim : shape) dims.push_back(dim < 0 ? "?" : std::to_string(dim));
    return fmt::format("[{}]", fmt::join(dims, ","));
  }

  template <typename Names>
  Json tensors(const GraphIndex& graph, const Names& names) {
    Json list = json_list<Json>(names, [&](const std::string& name) {
      return name.empty() ? Json(-1) : Json(tensor(graph, name));
    });
    return list;
  }

  void add_graph(const GraphIndex& graph, std::size_t number) {
    Json json = {{"name", graph.path().substr(graph.path().rfind('.') + 1)}};
    if (graph.owner()) json["owner"] = numbers_.at(graph.owner());
    json["inputs"] = Json::array();
    for (const auto& input : graph.graph().input())
      if (!graph.initializer(input.name())) json["inputs"].push_back(tensor(graph, input.name()));
    json["outputs"] = json_list<Json>(
        graph.graph().output(), [&](const auto& output) { return tensor(graph, output.name()); });
    graphs_.push_back(std::move(json));
    for (const auto& node : graph.graph().node()) add_node(graph, number, node);
  }

  void add_node(const GraphIndex& graph, std::size_t number, const NodeProto& node) {
    Json json = {{"name", node_label(node)},
                 {"op", node.op_type()},
                 {"graph", number},
                 {"in", tensors(graph, node.input())},
                 {"out", tensors(graph, node.output())}};
    if (!node.domain().empty() && node.domain() != "ai.onnx") json["domain"] = node.domain();
    for (const auto& attribute : node.attribute())
      if (std::string text = attribute_text(attribute); !text.empty())
        json["attributes"][attribute.name()] = std::move(text);
    if (const std::string module = module_path(node); !module.empty()) json["module"] = module;
    for (const auto& entry : node.metadata_props())
      if (entry.key() == trace_key)
        if (const auto line = sources_.add(entry.value()))
          json["source"] = {line->file, line->line, line->text};
    numbers_.emplace(&node, nodes_.size());
    nodes_.push_back(std::move(json));
  }

  const ModelIndex& index_;
  std::unordered_map<const NodeProto*, std::size_t> numbers_;
  std::unordered_map<std::string, std::size_t> tensors_;
  Json names_ = Json::array(), types_ = Json::object(), graphs_ = Json::array(),
       nodes_ = Json::array();
  SourceLines sources_;
};

}  // namespace

std::string graph_json(const ModelIndex& index) { return json_line(Writer(index).write()); }

}  // namespace vernier
