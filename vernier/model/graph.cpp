#include "vernier/model/graph.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <set>

namespace vernier {
namespace {

using vernier_onnx::AttributeProto;
using vernier_onnx::GraphProto;
using vernier_onnx::NodeProto;
using vernier_onnx::TensorProto;
using vernier_onnx::ValueInfoProto;

template <typename Function>
void for_each_subgraph(const NodeProto& node, const Function& function) {
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) function(attribute.g(), attribute.name());
    for (const GraphProto& graph : attribute.graphs()) function(graph, attribute.name());
  }
}

template <typename Map>
auto find_or_null(const Map& map, std::string_view name) -> typename Map::mapped_type {
  const auto found = map.find(name);
  return found == map.end() ? nullptr : found->second;
}

// Adds what the graph reads without defining it. Names a graph defines hide those around it.
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
      const std::string prefix = path.empty() ? "" : path + "/";
      add_subgraphs(subgraph, &node, index,
                    fmt::format("{}{}.{}", prefix, node_label(node), attribute), subgraphs);
    });
}

bool is_onnx_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

}  // namespace

GraphIndex::GraphIndex(const GraphProto& graph, const GraphIndex* outer)
    : graph_(&graph), outer_(outer) {
  for (const ValueInfoProto& value : graph.value_info()) infos_.emplace(value.name(), &value);
  for (const ValueInfoProto& value : graph.output()) {
    infos_.emplace(value.name(), &value);
    outputs_.insert(value.name());
  }
  for (const ValueInfoProto& value : graph.input()) {
    infos_.emplace(value.name(), &value);
    inputs_.insert(value.name());
  }
  for (const TensorProto& tensor : graph.initializer())
    initializers_.emplace(tensor.name(), &tensor);
  for (const NodeProto& node : graph.node()) {
    for (const auto& output : node.output())
      if (!output.empty()) producers_.emplace(output, &node);
    const auto read = [&](const std::string& name) {
      auto& readers = consumers_[name];
      if (readers.empty() || readers.back() != &node) readers.push_back(&node);
    };
    for (const auto& input : node.input())
      if (!input.empty()) read(input);
    for (const auto& name : captured_names(node)) read(name);
  }
}

const NodeProto* GraphIndex::producer(std::string_view tensor) const {
  if (const auto* node = find_or_null(producers_, tensor)) return node;
  return outer_ && !defines(tensor) ? outer_->producer(tensor) : nullptr;
}

std::span<const NodeProto* const> GraphIndex::consumers(std::string_view tensor) const {
  const auto found = consumers_.find(tensor);
  if (found == consumers_.end()) return {};
  return found->second;
}

const TensorProto* GraphIndex::initializer(std::string_view tensor) const {
  if (const auto* weight = find_or_null(initializers_, tensor)) return weight;
  return outer_ && !defines(tensor) ? outer_->initializer(tensor) : nullptr;
}

const ValueInfoProto* GraphIndex::value_info(std::string_view tensor) const {
  if (const auto* info = find_or_null(infos_, tensor)) return info;
  return outer_ && !defines(tensor) ? outer_->value_info(tensor) : nullptr;
}

bool GraphIndex::defines(std::string_view tensor) const {
  return producers_.contains(tensor) || inputs_.contains(tensor) || initializers_.contains(tensor);
}

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

std::string attribute_string(const NodeProto& node, std::string_view name, std::string fallback) {
  const auto* found = attribute(node, name);
  return found && found->has_s() ? found->s() : std::move(fallback);
}

std::vector<std::int64_t> attribute_ints(const NodeProto& node, std::string_view name) {
  const auto* found = attribute(node, name);
  if (!found) return {};
  return {found->ints().begin(), found->ints().end()};
}

}  // namespace vernier
