#include "vernier/analysis/check/numerics.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>

#include "vernier/analysis/check/float_limits.h"
#include "vernier/model/edit.h"
#include "vernier/model/onnx_type.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;

constexpr std::int64_t longest_f16_softmax = 2048;

// ---- float64

// Whether the node's result is known before the model runs.
bool is_constant(const Body& subgraph, const NodeProto& node, int depth = 0) {
  if (is_op(node, "Constant")) return true;
  if (depth > 8 || node.input_size() == 0) return false;
  return std::ranges::all_of(node.input(), [&](const std::string& input) {
    if (input.empty() || subgraph.index->initializer(input)) return true;
    const NodeProto* producer = subgraph.index->producer(input);
    return producer && is_constant(subgraph, *producer, depth + 1);
  });
}

bool is_f64(const Body& subgraph, const std::string& tensor) {
  return dtype_of(subgraph, tensor) == DType::f64;
}

bool writes_f64(const Body& subgraph, const NodeProto& node) {
  return std::ranges::any_of(node.output(),
                             [&](const std::string& output) { return is_f64(subgraph, output); });
}

// Nodes where float64 begins, with how many compute in it.
Findings float64_findings(const Body& subgraph) {
  Findings findings;
  std::int64_t count = 0;
  for (const auto& input : subgraph.graph->input())
    if (!subgraph.owner && is_f64(subgraph, input.name()) &&
        !subgraph.index->initializer(input.name()))
      findings.push_back(
          make_finding("float64", tensor_subject(subgraph, input.name()), "this input is float64"));
  for (const NodeProto& node : subgraph.graph->node()) {
    if (!writes_f64(subgraph, node) || is_constant(subgraph, node)) continue;
    ++count;
    const bool begins = std::ranges::none_of(node.input(), [&](const std::string& input) {
      const NodeProto* producer = subgraph.index->producer(input);
      return is_f64(subgraph, input) &&
             (subgraph.index->is_input(input) || (producer && !is_constant(subgraph, *producer)));
    });
    if (begins)
      findings.push_back(make_finding("float64", node_subject(subgraph, node),
                                      fmt::format("this {} gives float64", node.op_type())));
  }
  if (count > 1)
    for (Finding& finding : findings)
      finding.evidence += fmt::format("; {} nodes of the graph compute in it", count);
  return findings;
}

// ---- casts

std::optional<DType> cast_type(const NodeProto& node) {
  return is_op(node, "Cast") ? dtype_of_onnx(static_cast<int>(attribute_int(node, "to", 0)))
                             : std::nullopt;
}

bool narrows(const Body& subgraph, const NodeProto& cast) {
  const auto from = dtype_of(subgraph, input_name(cast, 0)), to = cast_type(cast);
  return from && to && is_float(*from) && is_float(*to) && bits(*to) < bits(*from);
}

bool all_readers_widen(const Body& subgraph, const NodeProto& node, DType narrow) {
  const auto readers = subgraph.index->consumers(node.output(0));
  return !readers.empty() && !subgraph.index->is_output(node.output(0)) &&
         std::ranges::all_of(readers, [&](const NodeProto* reader) {
           const auto to = cast_type(*reader);
           return to && is_float(*to) && bits(*to) > bits(narrow);
         });
}

Findings round_trip(const Body& subgraph, const NodeProto& cast) {
  if (!narrows(subgraph, cast) || cast.output_size() != 1) return {};
  const DType narrow = *cast_type(cast);
  const auto finding = [&](const std::string& around) {
    return Findings{make_finding(
        "cast-round-trip", node_subject(subgraph, cast),
        fmt::format("'{}' goes from {} to {} and back{}", input_name(cast, 0),
                    dtype_name(*dtype_of(subgraph, cast.input(0))), dtype_name(narrow), around))};
  };
  if (all_readers_widen(subgraph, cast, narrow)) return finding("");
  const auto readers = subgraph.index->consumers(cast.output(0));
  if (readers.size() != 1 || subgraph.index->is_output(cast.output(0))) return {};
  const NodeProto& op = *readers.front();
  if (op.output_size() != 1 || !all_readers_widen(subgraph, op, narrow)) return {};
  for (const std::string& input : op.input())
    if (input != cast.output(0) && !input.empty() && !constant_proto(subgraph, input)) return {};
  return finding(fmt::format(" around {} '{}'", op.op_type(), node_label(op)));
}

// ---- BatchNormalization behind Conv

Findings unfolded(const Body& subgraph, const NodeProto& node) {
  if (!is_op(node, "BatchNormalization") || attribute_int(node, "training_mode", 0) != 0) return {};
  const NodeProto* before = subgraph.index->producer(input_name(node, 0));
  if (!before || !(is_op(*before, "Conv") || is_op(*before, "Gemm"))) return {};
  if (subgraph.index->consumers(node.input(0)).size() != 1 ||
      subgraph.index->is_output(node.input(0)))
    return {};
  for (int i = 1; i < 5; ++i)
    if (!constant_proto(subgraph, input_name(node, i))) return {};
  if (!constant_proto(subgraph, input_name(*before, 1))) return {};
  return {make_finding("unfolded-batchnorm", node_subject(subgraph, node),
                       fmt::format("it follows {} '{}'", before->op_type(), node_label(*before)))};
}

// ---- epsilons

constexpr std::array<std::string_view, 6> normalisations = {
    "BatchNormalization", "InstanceNormalization",  "LayerNormalization",
    "GroupNormalization", "SkipLayerNormalization", "RMSNormalization"};

Findings attribute_epsilon(const Body& subgraph, const NodeProto& node) {
  const auto* epsilon = attribute(node, "epsilon");
  const auto dtype = dtype_of(subgraph, input_name(node, 0));
  if (!epsilon || !dtype ||
      std::ranges::find(normalisations, node.op_type()) == normalisations.end())
    return {};
  if (epsilon->f() > vanishing_below(*dtype)) return {};
  return {
      make_finding("vanishing-epsilon", node_subject(subgraph, node),
                   fmt::format("its epsilon {:g} is 0 in {}", epsilon->f(), dtype_name(*dtype)))};
}

bool guards_division(const Body& subgraph, const NodeProto& add) {
  return std::ranges::any_of(
      subgraph.index->consumers(add.output(0)), [&](const NodeProto* reader) {
        return is_op(*reader, "Sqrt") || is_op(*reader, "Log") || is_op(*reader, "Reciprocal") ||
               (is_op(*reader, "Div") && input_name(*reader, 1) == add.output(0));
      });
}

// A single number that is added before Sqrt, Log or a division. In float16 it is stored as 0, or
// comes from a float32 constant through a Cast.
Findings added_epsilon(const Graphs& graphs, const Body& subgraph, const NodeProto& node) {
  if (!is_op(node, "Add") || node.output_size() != 1) return {};
  const auto dtype = dtype_of(subgraph, node.output(0));
  if (!dtype || !is_float(*dtype) || !guards_division(subgraph, node)) return {};
  for (const std::string& input : node.input()) {
    const NodeProto* producer = subgraph.index->producer(input);
    const bool cast = producer && is_op(*producer, "Cast");
    const auto number = constant_number(graphs, subgraph, cast ? input_name(*producer, 0) : input);
    if (number && *number >= 0 && *number <= vanishing_below(*dtype))
      return {make_finding(
          "vanishing-epsilon", node_subject(subgraph, node),
          fmt::format("the {:g} that it adds is 0 in {}", *number, dtype_name(*dtype)))};
  }
  return {};
}

// ---- Softmax

// Elements that a Softmax sums up; 0 where that is not known.
std::int64_t softmax_length(const Graphs& graphs, const Body& subgraph, const NodeProto& node,
                            const Live& live) {
  const TensorLabels label(graphs.model.graph());
  const std::string input = input_name(node, 0);
  std::optional<Shape> shape = declared_shape(subgraph, input);
  if (const auto seen = live.shapes.find(label(subgraph.path, input)); seen != live.shapes.end())
    shape = seen->second;
  if (!shape || shape->empty()) return 0;
  const bool flattens = graphs.model.opset() < 13;  // over all axes from `axis` on
  std::int64_t axis = attribute_int(node, "axis", flattens ? 1 : -1);
  if (axis < 0) axis += std::ssize(*shape);
  if (axis < 0 || axis >= std::ssize(*shape)) return 0;
  const auto count = flattens ? std::ssize(*shape) - axis : 1;
  return checked_element_count(std::span(*shape).subspan(axis, count)).value_or(0);
}

Findings long_softmax(const Graphs& graphs, const Body& subgraph, const NodeProto& node,
                      const Live& live) {
  if (!is_op(node, "Softmax") && !is_op(node, "LogSoftmax")) return {};
  if (dtype_of(subgraph, input_name(node, 0)) != DType::f16) return {};
  const std::int64_t length = softmax_length(graphs, subgraph, node, live);
  if (length <= longest_f16_softmax) return {};
  return {make_finding("fp16-softmax", node_subject(subgraph, node),
                       fmt::format("it sums {} float16 numbers", length))};
}

}  // namespace

Findings check_numerics(const Graphs& graphs, const Live& live) {
  Findings findings;
  for (const Body& subgraph : graphs.subgraphs) {
    append(findings, float64_findings(subgraph));
    for (const NodeProto& node : subgraph.graph->node()) {
      append(findings, round_trip(subgraph, node));
      append(findings, unfolded(subgraph, node));
      append(findings, attribute_epsilon(subgraph, node));
      append(findings, added_epsilon(graphs, subgraph, node));
      append(findings, long_softmax(graphs, subgraph, node, live));
    }
  }
  return findings;
}

}  // namespace vernier
