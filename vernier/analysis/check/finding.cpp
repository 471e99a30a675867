#include "vernier/analysis/check/finding.h"

#include <fmt/format.h>

#include <iterator>

#include "vernier/analysis/check/explanations.h"

namespace vernier {
namespace {

std::string in_subgraph(const GraphIndex& graph, const std::string& name) {
  return graph.path().empty() ? name : graph.path() + "/" + name;
}

}  // namespace

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "";
}

std::string_view subject_kind_name(SubjectKind kind) {
  switch (kind) {
    case SubjectKind::model: return "model";
    case SubjectKind::node: return "node";
    case SubjectKind::tensor: return "tensor";
  }
  return "";
}

Finding make_finding(std::string_view id, Subject subject, std::string evidence) {
  const Explanation& text = explanation(id);
  return {std::string(id), text.severity, std::move(subject), std::move(evidence),
          std::string(text.remedy)};
}

Subject node_subject(const GraphIndex& graph, const vernier_onnx::NodeProto& node) {
  return {SubjectKind::node, in_subgraph(graph, node_label(node))};
}

Subject tensor_subject(const GraphIndex& graph, const std::string& tensor) {
  return {SubjectKind::tensor, in_subgraph(graph, tensor)};
}

void append(Findings& findings, Findings more) {
  findings.insert(findings.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace vernier
