#include "vernier/analysis/check/groups.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace vernier {
namespace {

constexpr std::array<std::string_view, 7> random_operators = {
    "RandomNormal", "RandomNormalLike", "RandomUniform",       "RandomUniformLike",
    "Bernoulli",    "Multinomial",      "RandomStandardNormal"};

constexpr std::int64_t opset_of_training_mode = 12;  // in which Dropout has it as an input
constexpr int most_carriers = 16;                    // a damaged file may hold a cycle

// Why a Dropout is active; none if it is not.
Statement dropout_evidence(const GraphIndex& graph, const NodeProto& node) {
  const std::int64_t opset = graph.index().model().opset();
  if (opset < opset_of_training_mode) {
    const bool training = opset < 7 && attribute_int(node, "is_test", 0) == 0;
    const float ratio = attribute_float(node, "ratio", 0.5F);
    if (!training || ratio <= 0) return {};
    return {StatementKind::untested_dropout, {ratio}};
  }
  const std::string mode = input_name(node, 2);
  const double ratio =
      input_name(node, 1).empty() ? 0.5 : graph.number(node.input(1)).value_or(0.5);
  if (mode.empty() || ratio == 0) return {};
  const auto training = graph.number(mode);
  if (!training) return {StatementKind::switchable_dropout, {mode, ratio}};
  return *training != 0 ? Statement{StatementKind::training_dropout, {ratio}} : Statement{};
}

// The node that computes a tensor, ignoring Q-DQ pairs, Cast and Identity; null for inputs,
// weights.
const NodeProto* float_producer(const GraphIndex& graph, const std::string& tensor) {
  const auto carries = [](const NodeProto& node) {
    return is_op_or_contrib(node, "QuantizeLinear") || is_op_or_contrib(node, "DequantizeLinear") ||
           is_op(node, "Cast") || is_op(node, "Identity");
  };
  const NodeProto* node = tensor.empty() ? nullptr : graph.producer(tensor);
  for (int i = 0; i < most_carriers && node && carries(*node); ++i)
    node = graph.producer(input_name(*node, 0));
  return node;
}

// Whether the tensor is computed at run time, not stored.
bool is_computed(const GraphIndex& graph, const std::string& tensor) {
  const NodeProto* producer = float_producer(graph, tensor);
  return producer && !is_op(*producer, "Constant");
}

// Whether a Reshape makes the tensor a batch of one, so that axis 0 does not mix samples.
bool is_batch_of_one(const GraphIndex& graph, const std::string& tensor) {
  const NodeProto* node = float_producer(graph, tensor);
  if (node && is_op(*node, "Transpose")) node = float_producer(graph, input_name(*node, 0));
  if (!node || !is_op(*node, "Reshape")) return false;
  const auto shape = graph.declared_shape(node->output(0));
  if (shape && !shape->empty() && shape->front() == 1) return true;
  const std::string target = input_name(*node, 1);
  if (const auto numbers = graph.numbers(target)) return !numbers->empty() && numbers->front() == 1;
  const NodeProto* joined = graph.producer(target);  // the first dimension may be constant
  return joined && is_op(*joined, "Concat") && graph.number(input_name(*joined, 0)) == 1.0;
}

// Whether all elements are `value`; the constant may be stored quantized with one scale.
bool holds_only(const GraphIndex& graph, const std::string& tensor, double value) {
  const NodeProto* node = tensor.empty() ? nullptr : graph.producer(tensor);
  const bool is_stored = node && is_op_or_contrib(*node, "DequantizeLinear");
  const auto numbers = graph.numbers(is_stored ? input_name(*node, 0) : tensor);
  const double scale = is_stored ? graph.number(input_name(*node, 1)).value_or(NAN) : 1;
  const bool is_shifted = is_stored && !input_name(*node, 2).empty();
  const double zero = is_shifted ? graph.number(input_name(*node, 2)).value_or(NAN) : 0;
  return numbers && std::ranges::all_of(*numbers, [&](double number) {
           return static_cast<float>((number - zero) * scale) == static_cast<float>(value);
         });
}

// Keras exports LayerNormalization like this: a Reshape makes every row a channel of a batch of
// one, and scale and offset are not learned: they are 1 and 0, or computed for as many rows.
bool normalises_rows(const GraphIndex& graph, const NodeProto& node) {
  return is_batch_of_one(graph, input_name(node, 0)) &&
         (is_computed(graph, input_name(node, 1)) || holds_only(graph, input_name(node, 1), 1)) &&
         (is_computed(graph, input_name(node, 2)) || holds_only(graph, input_name(node, 2), 0));
}

Statement batchnorm_evidence(const GraphIndex& graph, const NodeProto& node) {
  const std::int64_t opset = graph.index().model().opset();
  if (normalises_rows(graph, node)) return {};
  if (attribute_int(node, "training_mode", 0) != 0) return {StatementKind::training_batchnorm};
  if (opset < 7 && attribute_int(node, "is_test", 0) == 0)
    return {StatementKind::untested_batchnorm};
  if (opset < 14 && node.output_size() > 1) return {StatementKind::statistics_outputs};
  for (const int input : {3, 4})
    if (is_computed(graph, input_name(node, input)))
      return {StatementKind::computed_statistics, {node.input(input)}};
  return {};
}

std::vector<std::int64_t> reduced_axes(const GraphIndex& graph, const NodeProto& node) {
  if (const auto axes = graph.numbers(input_name(node, 1))) return {axes->begin(), axes->end()};
  return attribute_ints(node, "axes");
}

// Whether it is a mean over the batch (and maybe space) that keeps at least one other axis.
bool reduces_batch(const GraphIndex& graph, const NodeProto& node) {
  if (!is_op(node, "ReduceMean")) return false;
  std::vector<std::int64_t> axes = reduced_axes(graph, node);
  const auto shape = graph.declared_shape(input_name(node, 0));
  const std::int64_t rank = shape ? std::ssize(*shape) : 0;
  for (std::int64_t& axis : axes)
    if (axis < 0 && rank > 0) axis += rank;
  const auto has = [&](std::int64_t axis) { return std::ranges::find(axes, axis) != axes.end(); };
  const bool keeps_another = rank > 0 ? std::ssize(axes) < rank : !has(1);
  return has(0) && keeps_another;
}

// Evidence for x - mean(x) over the batch, if there is any.
Statement statistics_evidence(const GraphIndex& graph, const NodeProto& node) {
  const NodeProto* mean = float_producer(graph, input_name(node, 1));
  if (!mean || !reduces_batch(graph, *mean)) return {};
  const NodeProto* centred = float_producer(graph, node.input(0));
  const bool is_same = input_name(*mean, 0) == node.input(0) ||
                       (centred && centred == float_producer(graph, input_name(*mean, 0)));
  if (!is_same || is_batch_of_one(graph, node.input(0))) return {};
  return {StatementKind::batch_mean, {node.input(0), node_label(*mean)}};
}

struct Hint {
  std::string_view id;
  Statement evidence = {};
};

Hint hint(const GraphIndex& graph, const NodeProto& node) {
  if (is_op(node, "Dropout")) return {"active-dropout", dropout_evidence(graph, node)};
  if (is_op(node, "BatchNormalization"))
    return {"training-batchnorm", batchnorm_evidence(graph, node)};
  if (is_op(node, "Sub")) return {"batch-statistics", statistics_evidence(graph, node)};
  if (is_one_of(node, random_operators))
    return {"random-operator", {StatementKind::random_operator, {node.op_type()}}};
  return {};
}

}  // namespace

Findings check_training_mode(const ModelIndex& index) {
  Findings findings;
  for (const GraphIndex& graph : index.graphs())
    for (const NodeProto& node : graph.graph().node())
      if (Hint found = hint(graph, node); found.evidence.kind != StatementKind::none)
        findings.push_back(
            make_finding(found.id, node_subject(graph, node), std::move(found.evidence)));
  return findings;
}

}  // namespace vernier
