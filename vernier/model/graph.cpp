#include "vernier/model/graph.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <set>

namespace vernier {
namespace {

// Adds the names that the graph reads without defining them. Names that a graph defines shadow
// those of the enclosing graphs.
void collect_captured(const GraphProto& graph, std::set<std::string>& captured) {
  std::set<std::string> defined;
  for (const auto& input : graph.input()) defined.insert(input.name());
  for (const auto& weight : graph.initializer()) defined.insert(weight.name());
  for (const auto& weight : graph.sparse_initializer()) defined.insert(weight.values().name());
  for (const auto& node : graph.node())
    for (const auto& output : node.output()) defined.insert(output);

  std::set<std::string> read;
  for (const auto& node : graph.node()) {
    for (const auto& input : node.input()) read.insert(input);
    for_each_subgraph(
        node, [&](const GraphProto& subgraph, const auto&) { collect_captured(subgraph, read); });
  }
  for (const auto& output : graph.output()) read.insert(output.name());
  for (const auto& name : read)
    if (!name.empty() && !defined.contains(name)) captured.insert(name);
}

void add_subgraphs(const GraphProto& graph, const NodeProto* owner, int outer,
                   const std::string& path, std::vector<Subgraph>& subgraphs) {
  const int index = static_cast<int>(subgraphs.size());
  subgraphs.push_back({&graph, owner, outer, path});
  for (const auto& node : graph.node())
    for_each_subgraph(node, [&](const GraphProto& subgraph, const std::string& attribute) {
      add_subgraphs(subgraph, &node, index, subgraph_path(path, node, attribute), subgraphs);
    });
}

}  // namespace

TensorLabels::TensorLabels(const GraphProto& graph) {
  for (const Subgraph& subgraph : all_subgraphs(graph))
    for (const NodeProto& node : subgraph.graph->node())
      for (const auto& output : node.output()) ++definitions_[output];
}

std::string TensorLabels::operator()(const std::string& path, const std::string& tensor) const {
  const auto found = definitions_.find(tensor);
  const bool unique = found == definitions_.end() || found->second == 1;
  return path.empty() || unique ? tensor : path + "/" + tensor;
}

std::string subgraph_path(const std::string& path, const NodeProto& node,
                          const std::string& attribute) {
  return fmt::format("{}{}{}.{}", path, path.empty() ? "" : "/", node_label(node), attribute);
}

bool is_onnx_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

std::vector<Subgraph> all_subgraphs(const GraphProto& graph) {
  std::vector<Subgraph> subgraphs;
  add_subgraphs(graph, nullptr, -1, "", subgraphs);
  return subgraphs;
}

std::vector<std::string> captured_names(const NodeProto& node) {
  std::set<std::string> captured;
  for_each_subgraph(
      node, [&](const GraphProto& subgraph, const auto&) { collect_captured(subgraph, captured); });
  return {captured.begin(), captured.end()};
}

std::unordered_set<std::string> constant_tensors(const GraphProto& graph) {
  std::unordered_set<std::string> constants = {""};
  for (const auto& weight : graph.initializer()) constants.insert(weight.name());
  const auto is_constant = [&](const std::string& tensor) { return constants.contains(tensor); };
  for (const NodeProto& node : graph.node())
    if (std::ranges::all_of(node.input(), is_constant) &&
        std::ranges::all_of(captured_names(node), is_constant))
      constants.insert(node.output().begin(), node.output().end());
  return constants;
}

std::string input_name(const NodeProto& node, int index) {
  return index >= 0 && index < node.input_size() ? node.input(index) : std::string();
}

const TensorProto* constant_tensor(const NodeProto& node) {
  if (!is_op(node, "Constant")) return nullptr;
  const AttributeProto* value = attribute(node, "value");
  return value && value->has_t() ? &value->t() : nullptr;
}

std::string node_label(const NodeProto& node) {
  if (!node.name().empty()) return node.name();
  for (const auto& output : node.output())
    if (!output.empty()) return node.op_type() + "(" + output + ")";
  return node.op_type();
}

bool is_op(const NodeProto& node, std::string_view op_type, std::string_view domain) {
  return node.op_type() == op_type &&
         (node.domain() == domain || (is_onnx_domain(node.domain()) && is_onnx_domain(domain)));
}

bool is_op_or_contrib(const NodeProto& node, std::string_view op_type) {
  return is_op(node, op_type) || is_op(node, op_type, "com.microsoft");
}

bool is_one_of(const NodeProto& node, std::span<const std::string_view> op_types) {
  return std::ranges::find(op_types, node.op_type()) != op_types.end();
}

bool is_one_of(const NodeProto& node, std::initializer_list<std::string_view> op_types) {
  return is_one_of(node, std::span(op_types.begin(), op_types.size()));
}

const AttributeProto* attribute(const NodeProto& node, std::string_view name) {
  for (const AttributeProto& attribute : node.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

std::int64_t attribute_int(const NodeProto& node, std::string_view name, std::int64_t fallback) {
  const auto* found = attribute(node, name);
  return found && found->has_i() ? found->i() : fallback;
}

float attribute_float(const NodeProto& node, std::string_view name, float fallback) {
  const auto* found = attribute(node, name);
  return found && found->has_f() ? found->f() : fallback;
}

std::string attribute_string(const NodeProto& node, std::string_view name,
                             const std::string& fallback) {
  const auto* found = attribute(node, name);
  return found && found->has_s() ? found->s() : fallback;
}

std::vector<std::int64_t> attribute_ints(const NodeProto& node, std::string_view name) {
  const auto* found = attribute(node, name);
  if (!found) return {};
  return {found->ints().begin(), found->ints().end()};
}

}  // namespace vernier
