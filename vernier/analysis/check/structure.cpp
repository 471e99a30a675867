#include "vernier/analysis/check/structure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_set>

#include "vernier/analysis/check/operators.h"
#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;
using vernier_onnx::TensorProto;

constexpr std::int64_t oldest_good_opset = 13;
constexpr std::int64_t duplicate_bytes = 4096;
constexpr std::int64_t constant_bytes = 1024;

Findings check_versions(const Model& model) {
  Findings findings;
  const std::int64_t opset = model.opset();
  if (opset > 0 && opset < oldest_good_opset)
    findings.push_back(
        make_finding("old-opset", {}, fmt::format("the model imports opset {}", opset)));
  const std::int64_t needed = ir_version_of(opset);
  const std::int64_t found = model.proto().ir_version();
  if (opset > 0 && opset <= newest_known_opset && found < needed)
    findings.push_back(make_finding(
        "old-ir-version", {},
        fmt::format("opset {} came with IR version {}, the file has {}", opset, needed, found)));
  return findings;
}

bool is_read(const Body& subgraph, const std::string& tensor) {
  return !subgraph.index->consumers(tensor).empty() || subgraph.index->is_output(tensor);
}

Findings unused_initializers(const Body& subgraph) {
  Findings findings;
  for (const TensorProto& weight : subgraph.graph->initializer())
    if (!is_read(subgraph, weight.name()))
      findings.push_back(
          make_finding("unused-initializer", tensor_subject(subgraph, weight.name()),
                       fmt::format("nothing reads its {} bytes", weight_bytes(weight))));
  return findings;
}

// Nodes from which no output can be reached: found from the last to the first, so that whole chains
// count.
Findings unused_nodes(const Body& subgraph) {
  std::unordered_set<std::string_view> needed;
  for (const auto& output : subgraph.graph->output()) needed.insert(output.name());
  std::vector<const NodeProto*> unused;
  std::deque<std::string> captured;  // keeps the names that are looked at alive
  for (int i = subgraph.graph->node_size() - 1; i >= 0; --i) {
    const NodeProto& node = subgraph.graph->node(i);
    if (std::ranges::none_of(node.output(), [&](const auto& name) {
          return !name.empty() && needed.contains(name);
        })) {
      unused.push_back(&node);
      continue;
    }
    for (const auto& name : node.input()) needed.insert(name);
    for (std::string& name : captured_names(node))
      needed.insert(captured.emplace_back(std::move(name)));
  }
  Findings findings;
  for (const NodeProto* node : unused)
    findings.push_back(make_finding("unused-node", node_subject(subgraph, *node),
                                    fmt::format("no output depends on this {}", node->op_type())));
  std::ranges::reverse(findings);
  return findings;
}

Findings identity_chains(const Body& subgraph) {
  Findings findings;
  for (const NodeProto& node : subgraph.graph->node()) {
    if (!is_op(node, "Identity") || node.input_size() == 0) continue;
    const NodeProto* before = subgraph.index->producer(node.input(0));
    if (before && is_op(*before, "Identity"))
      findings.push_back(
          make_finding("identity-chain", node_subject(subgraph, node),
                       fmt::format("it reads the Identity '{}'", node_label(*before))));
  }
  return findings;
}

Findings constant_nodes(const Body& subgraph) {
  Findings findings;
  for (const NodeProto& node : subgraph.graph->node()) {
    if (!is_op(node, "Constant")) continue;
    const auto* value = attribute(node, "value");
    const std::int64_t bytes = value ? weight_bytes(value->t()) : 0;
    if (bytes >= constant_bytes)
      findings.push_back(make_finding("constant-node", node_subject(subgraph, node),
                                      fmt::format("it holds {} bytes", bytes)));
  }
  return findings;
}

struct Weight {
  const Body* subgraph;
  const TensorProto* proto;
};

std::string_view text_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

// Weights that look the same from outside and have the same hash, in graph order.
std::vector<std::vector<Weight>> candidates(const Graphs& graphs) {
  std::map<std::tuple<int, std::vector<std::int64_t>, std::size_t>, std::vector<Weight>> groups;
  for (const Body& subgraph : graphs.subgraphs)
    for (const TensorProto& weight : subgraph.graph->initializer()) {
      if (weight_bytes(weight) < duplicate_bytes) continue;
      const auto value = constant_value(graphs, subgraph, weight.name());
      if (!value) continue;
      const std::size_t hash = std::hash<std::string_view>{}(text_of(*value));
      groups[{weight.data_type(), value->shape, hash}].push_back({&subgraph, &weight});
    }
  std::vector<std::vector<Weight>> found;
  for (auto& [key, weights] : groups)
    if (weights.size() > 1) found.push_back(std::move(weights));
  return found;
}

Findings duplicate_initializers(const Graphs& graphs) {
  Findings findings;
  for (const std::vector<Weight>& weights : candidates(graphs)) {
    const auto first = constant_value(graphs, *weights[0].subgraph, weights[0].proto->name());
    std::vector<std::string> copies;
    for (const Weight& weight : weights) {
      if (&weight == &weights[0]) continue;
      const auto other = constant_value(graphs, *weight.subgraph, weight.proto->name());
      if (first && other && first->bytes == other->bytes) copies.push_back(weight.proto->name());
    }
    if (copies.empty()) continue;
    findings.push_back(make_finding(
        "duplicate-initializer", tensor_subject(*weights[0].subgraph, weights[0].proto->name()),
        fmt::format("{} bytes are wasted: '{}' holds the same",
                    std::ssize(first->bytes) * std::ssize(copies), fmt::join(copies, "', '"))));
  }
  return findings;
}

}  // namespace

Findings check_structure(const Graphs& graphs) {
  Findings findings = check_versions(graphs.model);
  for (const Body& subgraph : graphs.subgraphs) {
    append(findings, unused_initializers(subgraph));
    append(findings, unused_nodes(subgraph));
    append(findings, identity_chains(subgraph));
    append(findings, constant_nodes(subgraph));
  }
  append(findings, duplicate_initializers(graphs));
  return findings;
}

}  // namespace vernier
