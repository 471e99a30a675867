#include "vernier/analysis/check/frozen_node.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "vernier/analysis/check/trial.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;

// As far as it makes sense to look for a cause.
constexpr std::size_t most_nodes = 200;

Shape as_shape(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

// The constant target of a Reshape or Expand.
std::optional<Shape> constant_target(const Graphs& graphs, const Body& subgraph,
                                     const NodeProto& node) {
  if (!is_op(node, "Reshape") && !is_op(node, "Expand")) return std::nullopt;
  const auto numbers = constant_numbers(graphs, subgraph, input_name(node, 1));
  return numbers ? std::optional(as_shape(*numbers)) : std::nullopt;
}

// Why a node that failed is itself the cause; empty if it may not be.
std::string own_reason(const Graphs& graphs, const Body& subgraph, const NodeProto& node) {
  if (const auto target = constant_target(graphs, subgraph, node))
    return fmt::format(" in {} '{}', whose shape is the constant {}", node.op_type(),
                       node_label(node), format_shape(*target));
  for (const std::string& input : node.input()) {
    const auto shape =
        constant_proto(subgraph, input) ? declared_shape(subgraph, input) : std::nullopt;
    if (shape && checked_element_count(*shape).value_or(0) > 1)
      return fmt::format(" in {} '{}', which takes the constant '{}' of shape {}", node.op_type(),
                         node_label(node), input, format_shape(*shape));
  }
  return "";
}

// The nearest Reshape or Expand before the node whose first dimension is the size that works.
const NodeProto* frozen_before(const Graphs& graphs, const Body& subgraph, const NodeProto* node,
                               std::int64_t size) {
  std::deque<const NodeProto*> waiting{node};
  std::unordered_set<const NodeProto*> seen;
  while (!waiting.empty() && seen.size() < most_nodes) {
    const NodeProto* next = waiting.front();
    waiting.pop_front();
    if (!next || !seen.insert(next).second) continue;
    const auto target = constant_target(graphs, subgraph, *next);
    if (target && !target->empty() && target->front() == size) return next;
    for (const std::string& input : next->input())
      waiting.push_back(subgraph.index->producer(input));
  }
  return nullptr;
}

// The message of the graph as it is written: optimisation renames and fuses nodes.
std::string plain_error(const Model& model, std::span<const Tensor> inputs,
                        const std::string& error, OrtOptions options) {
  options.optimization = Optimization::disabled;
  try {
    OrtRunner runner(model.clone(), options);
    const Trial trial = try_run(runner, inputs);
    return trial.outputs ? error : trial.error;
  } catch (const Error&) {
    return error;
  }
}

}  // namespace

FrozenNode find_frozen_node(const Graphs& graphs, std::span<const Tensor> inputs,
                            const std::string& error, std::int64_t size,
                            const OrtOptions& options) {
  FrozenNode frozen{.message = plain_error(graphs.model, inputs, error, options)};
  const auto failed = find_failed_node(graphs, frozen.message);
  frozen.subject = subject_of_error(graphs, frozen.message);
  if (!failed) return frozen;
  frozen.reason = own_reason(graphs, *failed->subgraph, *failed->node);
  if (!frozen.reason.empty() && !is_op(*failed->node, "Gemm") && !is_op(*failed->node, "MatMul"))
    return frozen;
  if (const NodeProto* cause = frozen_before(graphs, *failed->subgraph, failed->node, size)) {
    frozen.subject = node_subject(*failed->subgraph, *cause);
    frozen.reason = own_reason(graphs, *failed->subgraph, *cause);
  }
  return frozen;
}

FrozenNode find_frozen_node_before(const Graphs& graphs, const std::string& output,
                                   std::int64_t size) {
  const Body& subgraph = graphs.main();
  const NodeProto* cause = frozen_before(graphs, subgraph, subgraph.index->producer(output), size);
  if (!cause) return {.subject = {SubjectKind::tensor, output}};
  return {.subject = node_subject(subgraph, *cause),
          .reason = ":" + own_reason(graphs, subgraph, *cause)};
}

}  // namespace vernier
