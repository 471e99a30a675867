#include "vernier/analysis/check/subject.h"

namespace vernier {
namespace {

std::string in_subgraph(const GraphIndex& graph, const std::string& name) {
  return graph.path().empty() ? name : graph.path() + "/" + name;
}

}  // namespace

Subject node_subject(const GraphIndex& graph, const vernier_onnx::NodeProto& node) {
  return {SubjectKind::node, in_subgraph(graph, node_label(node))};
}

Subject tensor_subject(const GraphIndex& graph, const std::string& tensor) {
  return {SubjectKind::tensor, in_subgraph(graph, tensor)};
}

}  // namespace vernier
