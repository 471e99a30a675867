#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>

#include "vernier/analysis/check/numerics.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;

// A Gather whose indices and table are both in the model.
Findings constant_indices(const Graphs& graphs, const Body& subgraph, const NodeProto& node) {
  if (!is_op(node, "Gather") && !is_op(node, "GatherElements")) return {};
  const auto shape = declared_shape(subgraph, input_name(node, 0));
  if (!shape || shape->empty() || !constant_proto(subgraph, input_name(node, 1))) return {};
  std::int64_t axis = attribute_int(node, "axis", 0);
  if (axis < 0) axis += std::ssize(*shape);
  if (axis < 0 || axis >= std::ssize(*shape) || (*shape)[axis] < 0) return {};
  const auto length = static_cast<double>((*shape)[axis]);
  const auto numbers = constant_numbers(graphs, subgraph, node.input(1));
  for (const double index : numbers.value_or(std::vector<double>{}))
    if (index >= length || index < -length)
      return {
          make_finding("index-out-of-range", node_subject(subgraph, node),
                       fmt::format("index {:g} is read from '{}', whose axis {} has {} elements",
                                   index, node.input(0), axis, length))};
  return {};
}

// The last index that the shortest table allows must run.
Findings last_index(const Graphs& graphs, const Runs& runs, std::size_t input) {
  std::vector<Tensor> inputs = runs.samples.front();
  const auto found = runs.lengths.find(inputs[input].name);
  if (found == runs.lengths.end() || inputs[input].size() == 0) return {};
  Tensor last = make_tensor(inputs[input].name, DType::i64, inputs[input].shape);
  std::ranges::fill(elements<std::int64_t>(last), found->second - 1);
  inputs[input] = convert(last, inputs[input].dtype);
  inputs[input].name = last.name;
  const Trial trial = try_run(*runs.runner, inputs);
  if (trial.outputs) return {};
  return {
      make_finding("index-out-of-range", subject_of_error(graphs, trial.error),
                   fmt::format("input '{}' indexes a table of {} rows, and index {} fails: {}",
                               inputs[input].name, found->second, found->second - 1, trial.error))};
}

}  // namespace

Findings check_indices(const Graphs& graphs, const Runs& runs) {
  Findings findings;
  for (const Body& subgraph : graphs.subgraphs)
    for (const NodeProto& node : subgraph.graph->node())
      append(findings, constant_indices(graphs, subgraph, node));
  if (!runs.ran()) return findings;
  for (std::size_t i = 0; i < runs.samples.front().size(); ++i)
    append(findings, last_index(graphs, runs, i));
  return findings;
}

Findings check_given_indices(const Runs& runs, std::span<const Tensor> inputs) {
  Findings findings;
  for (const Tensor& input : inputs) {
    const auto found = runs.lengths.find(input.name);
    if (found == runs.lengths.end()) continue;
    const auto length = static_cast<double>(found->second);
    const std::vector<double> indices = to_f64(input);
    const auto past = std::ranges::find_if(
        indices, [&](double index) { return index >= length || index < -length; });
    if (past != indices.end())
      findings.push_back(make_finding(
          "index-out-of-range", {SubjectKind::tensor, input.name},
          fmt::format("the given index {:g} is past a table of {} rows", *past, found->second)));
  }
  return findings;
}

}  // namespace vernier
