#include "vernier/analysis/check/trial.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <regex>

#include "vernier/error.h"

namespace vernier {

Trial try_run(Runner& runner, std::span<const Tensor> inputs) {
  try {
    return {runner.run(inputs), ""};
  } catch (const Error& error) {
    return {std::nullopt, bare_message(error.what())};
  }
}

std::string bare_message(const std::string& message) {
  static const std::regex front(R"(^\[[a-z]+\] .*?\.onnx: )");
  return std::regex_replace(message, front, "");
}

std::string named_node(const std::string& message) {
  static const std::array patterns = {
      std::regex(R"(node '([^']+)' \()"), std::regex(R"(In Node, \("([^"]+)\")"),
      std::regex(R"re(Node[: ]\s?\(([^)]+)\))re"), std::regex(R"(with name '([^']+)')"),
      std::regex(R"(in node \(([^)]+)\))")};
  for (const std::regex& pattern : patterns)
    if (std::smatch match; std::regex_search(message, match, pattern)) return match[1];
  return "";
}

std::optional<FoundNode> find_node(const Graphs& graphs, const std::string& name) {
  if (name.empty()) return std::nullopt;
  for (const Body& subgraph : graphs.subgraphs)
    for (const auto& node : subgraph.graph->node())
      if (node.name() == name) return FoundNode{&subgraph, &node};
  return std::nullopt;
}

std::optional<FoundNode> find_failed_node(const Graphs& graphs, const std::string& message) {
  if (const auto found = find_node(graphs, named_node(message))) return found;
  static const std::regex unnamed(R"(node '' \((\w+)\))");
  std::smatch match;
  if (!std::regex_search(message, match, unnamed)) return std::nullopt;
  std::optional<FoundNode> only;
  for (const Body& subgraph : graphs.subgraphs)
    for (const auto& node : subgraph.graph->node())
      if (node.op_type() == match[1].str()) {
        if (only) return std::nullopt;
        only = FoundNode{&subgraph, &node};
      }
  return only;
}

Subject subject_of_error(const Graphs& graphs, const std::string& message) {
  const std::string name = named_node(message);
  if (const auto found = find_failed_node(graphs, message))
    return node_subject(*found->subgraph, *found->node);
  return name.empty() ? Subject{} : Subject{SubjectKind::node, name};
}

std::vector<DynamicAxis> dynamic_axes(std::span<const TensorSpec> inputs) {
  std::vector<DynamicAxis> axes;
  for (std::size_t input = 0; input < inputs.size(); ++input)
    for (std::size_t axis = 0; axis < inputs[input].shape.size(); ++axis) {
      const Dim& dim = inputs[input].shape[axis];
      if (!dim.is_dynamic()) continue;
      const std::string name = dim.symbol.empty() ? fmt::format("axis {}", axis) : dim.symbol;
      auto found = std::ranges::find(axes, name, &DynamicAxis::name);
      if (found == axes.end())
        found = axes.insert(found, {.name = name, .named = !dim.symbol.empty()});
      found->is_batch |= axis == 0;
      found->places.push_back({input, axis});
    }
  return axes;
}

std::map<std::string, Shape> shapes_with(std::span<const TensorSpec> inputs,
                                         std::span<const DynamicAxis> axes,
                                         std::span<const std::int64_t> sizes) {
  std::vector<Shape> shapes;
  for (const TensorSpec& input : inputs) {
    Shape& shape = shapes.emplace_back();
    for (const Dim& dim : input.shape) shape.push_back(dim.size);
  }
  for (std::size_t i = 0; i < axes.size(); ++i)
    for (const DynamicAxis::Place& place : axes[i].places)
      shapes[place.input][place.axis] = sizes[i];
  std::map<std::string, Shape> named;
  for (std::size_t i = 0; i < inputs.size(); ++i) named[inputs[i].name] = shapes[i];
  return named;
}

}  // namespace vernier
