#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <optional>
#include <string>

#include "vernier/analysis/check/groups.h"
#include "vernier/analysis/check/operators.h"

namespace vernier {
namespace {

// Evidence and remedy of a finding on an operator.
struct Advice {
  std::string evidence;
  std::string remedy;
};

Advice unknown_operator(const std::string& op_type) {
  const std::string close = closest_operator(op_type);
  return {fmt::format("ONNX has no operator {}", op_type),
          close.empty() ? "" : fmt::format("The closest operator is {}: was that meant?", close)};
}

Advice wrong_opset(const std::string& op_type, const OperatorHistory& history, std::int64_t opset) {
  if (opset < history.since)
    return {
        fmt::format("{} came with opset {}, the model imports {}", op_type, history.since, opset),
        fmt::format("Export with opset {} or newer.", history.since)};
  return {fmt::format("{} was removed in opset {}, the model imports {}", op_type, history.removed,
                      opset),
          fmt::format("Use {} instead, or opset {}.", history.replacement, history.removed - 1)};
}

Finding advise(Finding finding, const Advice& advice) {
  if (!advice.remedy.empty()) finding.remedy = advice.remedy;
  return finding;
}

std::optional<Finding> check_operator(const ModelIndex& index, const NodeProto& node,
                                      Subject subject) {
  const std::string& domain = node.domain();
  if (index.is_local_function(node)) return std::nullopt;
  if (is_runtime_domain(domain))
    return make_finding("contrib-operator", std::move(subject),
                        fmt::format("{} is of domain {}", node.op_type(), domain));
  if (!is_standard_domain(domain))
    return make_finding("custom-operator", std::move(subject),
                        fmt::format("{} is of domain '{}', which ONNX Runtime does not have",
                                    node.op_type(), domain));
  if (!domain.empty() && domain != "ai.onnx") return std::nullopt;
  const std::int64_t opset = index.model().opset();
  const auto history = operator_history(node.op_type());
  if (history && exists_in(*history, opset)) return std::nullopt;
  const Advice advice =
      history ? wrong_opset(node.op_type(), *history, opset) : unknown_operator(node.op_type());
  return advise(make_finding("unknown-operator", std::move(subject), advice.evidence), advice);
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
