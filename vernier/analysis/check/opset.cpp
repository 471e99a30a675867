#include <vernier_onnx.pb.h>

#include <optional>
#include <string>

#include "vernier/analysis/check/groups.h"
#include "vernier/analysis/check/operators.h"

namespace vernier {
namespace {

// An operator that the model's opset does not have, and what to do about it.
Finding missing_operator(Subject subject, const std::string& op_type, std::int64_t opset) {
  Finding finding = make_finding("unknown-operator", std::move(subject),
                                 {StatementKind::unknown_operator, {op_type}});
  const auto history = operator_history(op_type);
  if (!history) {
    if (const std::string close = closest_operator(op_type); !close.empty())
      finding.remedy = {StatementKind::closest_operator, {close}};
  } else if (opset < history->since) {
    finding.evidence = {StatementKind::newer_operator, {op_type, history->since, opset}};
    finding.remedy = {StatementKind::newer_opset, {history->since}};
  } else {
    finding.evidence = {StatementKind::removed_operator, {op_type, history->removed, opset}};
    finding.remedy = {StatementKind::replacing_operator,
                      {std::string(history->replacement), history->removed - 1}};
  }
  return finding;
}

std::optional<Finding> check_operator(const ModelIndex& index, const NodeProto& node,
                                      Subject subject) {
  const std::string& domain = node.domain();
  if (index.is_local_function(node)) return std::nullopt;
  if (is_runtime_domain(domain))
    return make_finding("contrib-operator", std::move(subject),
                        {StatementKind::contrib_operator, {node.op_type(), domain}});
  if (!is_standard_domain(domain))
    return make_finding("custom-operator", std::move(subject),
                        {StatementKind::custom_operator, {node.op_type(), domain}});
  if (!domain.empty() && domain != "ai.onnx") return std::nullopt;
  const std::int64_t opset = index.model().opset();
  const auto history = operator_history(node.op_type());
  if (history && exists_in(*history, opset)) return std::nullopt;
  return missing_operator(std::move(subject), node.op_type(), opset);
}

}  // namespace

Findings check_operators(const ModelIndex& index) {
  Findings findings;
  for (const GraphIndex& graph : index.graphs())
    for (const NodeProto& node : graph.graph().node())
      if (auto finding = check_operator(index, node, node_subject(graph, node)))
        findings.push_back(std::move(*finding));
  for (const auto& function : index.model().proto().functions())
    for (const NodeProto& node : function.node())
      if (auto finding = check_operator(
              index, node, {SubjectKind::node, function.name() + "/" + node_label(node)}))
        findings.push_back(std::move(*finding));
  return findings;
}

}  // namespace vernier
