#include "vernier/analysis/check/groups.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>

#include "vernier/analysis/check/float_limits.h"
#include "vernier/error.h"
#include "vernier/metrics/tensor_statistics.h"
#include "vernier/model/onnx_type.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

struct NonFiniteTensor {
  std::string tensor;
  StatementKind what;  // nan, infinity or nan_or_infinity
};

void widen_range(std::map<std::string, RealRange>& ranges, const std::string& name,
                 const TensorStatistics& statistics) {
  const auto [range, added] = ranges.try_emplace(name, RealRange{statistics.min, statistics.max});
  range->second.low = std::min(range->second.low, statistics.min);
  range->second.high = std::max(range->second.high, statistics.max);
}

struct TensorObserver {
  ObservedTensors observed;
  std::optional<NonFiniteTensor> first_nan, first_inf;

  void add(const TensorView& tensor) {
    const std::string name(tensor.name);
    observed.shapes[name] = Shape(tensor.shape.begin(), tensor.shape.end());
    if (!is_float(tensor.dtype)) return;
    const TensorStatistics statistics = tensor_statistics(tensor);
    if (statistics.finite() > 0) widen_range(observed.ranges, name, statistics);
    if (statistics.nan > 0 && !first_nan) first_nan = {name, StatementKind::nan};
    if (statistics.inf() > 0 && !first_inf) first_inf = {name, StatementKind::infinity};
  }
};

bool has_nonfinite(const Tensor& tensor) {
  return is_float(tensor.dtype) && tensor_statistics(tensor).finite() < tensor.size();
}

// Infinity inside the model is common (masks), but not in an output. NaN is reported anywhere.
Findings judge(const ModelIndex& index, const Runs& runs, const TensorObserver& seen) {
  const auto output = std::ranges::find_if(runs.outputs, has_nonfinite);
  const bool reaches_output = output != runs.outputs.end();
  std::optional<NonFiniteTensor> origin = seen.first_nan;
  if (reaches_output && !origin) origin = seen.first_inf;
  if (!origin && reaches_output) origin = {output->name, StatementKind::nan_or_infinity};
  if (!origin) return {};
  const FoundTensor* writer = index.tensor(origin->tensor);
  Statement written_by;
  if (writer) written_by = {StatementKind::written_by, {writer->node->op_type()}};
  Finding finding = make_finding(
      "nonfinite-value",
      writer ? node_subject(*writer->graph, *writer->node)
             : Subject{SubjectKind::tensor, origin->tensor},
      {StatementKind::nonfinite_inside, {Statement{origin->what}, origin->tensor, written_by}});
  if (!reaches_output) {
    finding.severity = Severity::warning;
  } else {
    finding.evidence.kind = StatementKind::nonfinite_in_output;
    finding.evidence.values.emplace_back(output->name);
  }
  return {finding};
}

constexpr std::int64_t longest_f16_softmax = 2048;

// ---- float64

// Whether the node's output does not depend on the model's inputs.
bool is_constant(const GraphIndex& graph, const NodeProto& node, int depth = 0) {
  if (is_op(node, "Constant")) return true;
  if (depth > 8 || node.input_size() == 0) return false;
  return std::ranges::all_of(node.input(), [&](const std::string& input) {
    if (input.empty() || graph.initializer(input)) return true;
    const NodeProto* producer = graph.producer(input);
    return producer && is_constant(graph, *producer, depth + 1);
  });
}

bool is_f64(const GraphIndex& graph, const std::string& tensor) {
  return graph.dtype(tensor) == DType::f64;
}

bool writes_f64(const GraphIndex& graph, const NodeProto& node) {
  return std::ranges::any_of(node.output(),
                             [&](const std::string& output) { return is_f64(graph, output); });
}

// Nodes where float64 begins, with the number of nodes that compute in it.
Findings float64_findings(const GraphIndex& graph) {
  Findings findings;
  std::int64_t count = 0;
  for (const auto& input : graph.graph().input())
    if (!graph.owner() && is_f64(graph, input.name()) && !graph.initializer(input.name()))
      findings.push_back(
          make_finding("float64", tensor_subject(graph, input.name()), {StatementKind::f64_input}));
  for (const NodeProto& node : graph.graph().node()) {
    if (!writes_f64(graph, node) || is_constant(graph, node)) continue;
    ++count;
    const bool begins = std::ranges::none_of(node.input(), [&](const std::string& input) {
      const NodeProto* producer = graph.producer(input);
      return is_f64(graph, input) &&
             (graph.is_input(input) || (producer && !is_constant(graph, *producer)));
    });
    if (begins)
      findings.push_back(make_finding("float64", node_subject(graph, node),
                                      {StatementKind::f64_node, {node.op_type()}}));
  }
  const Statement how_far = count > 1 ? Statement{StatementKind::f64_nodes, {count}} : Statement{};
  for (Finding& finding : findings) finding.evidence.values.emplace_back(how_far);
  return findings;
}

// ---- casts

std::optional<DType> cast_type(const NodeProto& node) {
  return is_op(node, "Cast") ? dtype_of_onnx(static_cast<int>(attribute_int(node, "to", 0)))
                             : std::nullopt;
}

bool narrows(const GraphIndex& graph, const NodeProto& cast) {
  const auto from = graph.dtype(input_name(cast, 0)), to = cast_type(cast);
  return from && to && is_float(*from) && is_float(*to) && bits(*to) < bits(*from);
}

bool all_readers_widen(const GraphIndex& graph, const NodeProto& node, DType narrow) {
  const auto readers = graph.consumers(node.output(0));
  return !readers.empty() && !graph.is_output(node.output(0)) &&
         std::ranges::all_of(readers, [&](const NodeProto* reader) {
           const auto to = cast_type(*reader);
           return to && is_float(*to) && bits(*to) > bits(narrow);
         });
}

Findings round_trip(const GraphIndex& graph, const NodeProto& cast) {
  if (!narrows(graph, cast) || cast.output_size() != 1) return {};
  const DType narrow = *cast_type(cast);
  const auto finding = [&](const Statement& around) {
    return Findings{
        make_finding("cast-round-trip", node_subject(graph, cast),
                     {StatementKind::cast_round_trip,
                      {input_name(cast, 0), *graph.dtype(cast.input(0)), narrow, around}})};
  };
  if (all_readers_widen(graph, cast, narrow)) return finding({});
  const auto readers = graph.consumers(cast.output(0));
  if (readers.size() != 1 || graph.is_output(cast.output(0))) return {};
  const NodeProto& op = *readers.front();
  if (op.output_size() != 1 || !all_readers_widen(graph, op, narrow)) return {};
  for (const std::string& input : op.input())
    if (input != cast.output(0) && !input.empty() && !graph.constant(input)) return {};
  return finding({StatementKind::around_node, {op.op_type(), node_label(op)}});
}

// ---- BatchNormalization behind Conv

Findings unfolded(const GraphIndex& graph, const NodeProto& node) {
  if (!is_op(node, "BatchNormalization") || attribute_int(node, "training_mode", 0) != 0) return {};
  const NodeProto* before = graph.producer(input_name(node, 0));
  if (!before || !(is_op(*before, "Conv") || is_op(*before, "Gemm"))) return {};
  if (graph.consumers(node.input(0)).size() != 1 || graph.is_output(node.input(0))) return {};
  for (int i = 1; i < 5; ++i)
    if (!graph.constant(input_name(node, i))) return {};
  if (!graph.constant(input_name(*before, 1))) return {};
  return {make_finding("unfolded-batchnorm", node_subject(graph, node),
                       {StatementKind::follows_node, {before->op_type(), node_label(*before)}})};
}

// ---- epsilons

constexpr std::array<std::string_view, 6> normalisations = {
    "BatchNormalization", "InstanceNormalization",  "LayerNormalization",
    "GroupNormalization", "SkipLayerNormalization", "RMSNormalization"};

Findings attribute_epsilon(const GraphIndex& graph, const NodeProto& node) {
  const auto* epsilon = attribute(node, "epsilon");
  const auto dtype = graph.dtype(input_name(node, 0));
  if (!epsilon || !dtype || !is_one_of(node, normalisations)) return {};
  if (epsilon->f() > vanishing_below(*dtype)) return {};
  return {make_finding("vanishing-epsilon", node_subject(graph, node),
                       {StatementKind::epsilon_vanishes, {epsilon->f(), *dtype}})};
}

bool guards_division(const GraphIndex& graph, const NodeProto& add) {
  return std::ranges::any_of(graph.consumers(add.output(0)), [&](const NodeProto* reader) {
    return is_op(*reader, "Sqrt") || is_op(*reader, "Log") || is_op(*reader, "Reciprocal") ||
           (is_op(*reader, "Div") && input_name(*reader, 1) == add.output(0));
  });
}

// A scalar that is added before Sqrt, Log or a division. In float16 it may be stored as 0, or come
// from a float32 constant through a Cast.
Findings added_epsilon(const GraphIndex& graph, const NodeProto& node) {
  if (!is_op(node, "Add") || node.output_size() != 1) return {};
  const auto dtype = graph.dtype(node.output(0));
  if (!dtype || !is_float(*dtype) || !guards_division(graph, node)) return {};
  for (const std::string& input : node.input()) {
    const NodeProto* producer = graph.producer(input);
    const bool cast = producer && is_op(*producer, "Cast");
    const auto number = graph.number(cast ? input_name(*producer, 0) : input);
    if (number && *number >= 0 && *number <= vanishing_below(*dtype))
      return {make_finding("vanishing-epsilon", node_subject(graph, node),
                           {StatementKind::added_vanishes, {*number, *dtype}})};
  }
  return {};
}

// ---- Softmax

// The number of elements that a Softmax sums; 0 if unknown.
std::int64_t softmax_length(const GraphIndex& graph, const NodeProto& node,
                            const ObservedTensors& observed) {
  const std::string input = input_name(node, 0);
  std::optional<Shape> shape = graph.declared_shape(input);
  if (const auto seen = observed.shapes.find(graph.label(input)); seen != observed.shapes.end())
    shape = seen->second;
  if (!shape || shape->empty()) return 0;
  const bool flattens = graph.index().model().opset() < 13;  // into one axis, from `axis` on
  std::int64_t axis = attribute_int(node, "axis", flattens ? 1 : -1);
  if (axis < 0) axis += std::ssize(*shape);
  if (axis < 0 || axis >= std::ssize(*shape)) return 0;
  const auto count = flattens ? std::ssize(*shape) - axis : 1;
  return checked_element_count(std::span(*shape).subspan(axis, count)).value_or(0);
}

Findings long_softmax(const GraphIndex& graph, const NodeProto& node,
                      const ObservedTensors& observed) {
  if (!is_op(node, "Softmax") && !is_op(node, "LogSoftmax")) return {};
  if (graph.dtype(input_name(node, 0)) != DType::f16) return {};
  const std::int64_t length = softmax_length(graph, node, observed);
  if (length <= longest_f16_softmax) return {};
  return {make_finding("fp16-softmax", node_subject(graph, node),
                       {StatementKind::long_softmax, {length}})};
}

// A Gather whose indices are constant and whose table has a known length.
Findings constant_indices(const GraphIndex& graph, const NodeProto& node) {
  if (!is_op(node, "Gather") && !is_op(node, "GatherElements")) return {};
  const auto shape = graph.declared_shape(input_name(node, 0));
  if (!shape || shape->empty() || !graph.constant(input_name(node, 1))) return {};
  std::int64_t axis = attribute_int(node, "axis", 0);
  if (axis < 0) axis += std::ssize(*shape);
  if (axis < 0 || axis >= std::ssize(*shape) || (*shape)[axis] < 0) return {};
  const std::int64_t elements = (*shape)[axis];
  const auto length = static_cast<double>(elements);
  const auto numbers = graph.numbers(node.input(1));
  for (const double index : numbers.value_or(std::vector<double>{}))
    if (index >= length || index < -length)
      return {
          make_finding("index-out-of-range", node_subject(graph, node),
                       {StatementKind::constant_index, {index, node.input(0), axis, elements}})};
  return {};
}

// Runs the last index that the shortest table allows.
Findings last_index(const ModelIndex& index, const Runs& runs, std::size_t input) {
  std::vector<Tensor> inputs = runs.samples.front();
  const auto found = runs.lengths.find(inputs[input].name);
  if (found == runs.lengths.end() || inputs[input].size() == 0) return {};
  Tensor last = make_tensor(inputs[input].name, DType::i64, inputs[input].shape);
  std::ranges::fill(elements<std::int64_t>(last), found->second - 1);
  inputs[input] = convert(last, inputs[input].dtype);
  const Trial trial = try_run(*runs.runner, inputs);
  if (trial.outputs || trial.ended) return {};
  return {make_finding("index-out-of-range", subject_of_error(index, trial.error),
                       {StatementKind::last_index,
                        {inputs[input].name, found->second, found->second - 1, trial.error}})};
}

}  // namespace

ObservedTensors check_values(const ModelIndex& index, const Runs& runs, Runner& watched) {
  TensorObserver seen;
  for (const Sample& sample : runs.samples) {
    for (const Tensor& input : sample) seen.add(input);
    try {
      watched.run(sample, [&](const TensorView& tensor) { seen.add(tensor); });
    } catch (const Error&) {
      break;  // earlier observations still count
    }
  }
  seen.observed.findings = judge(index, runs, seen);
  return std::move(seen.observed);
}

Findings check_numerics(const ModelIndex& index, const ObservedTensors& observed) {
  Findings findings;
  for (const GraphIndex& graph : index.graphs()) {
    append(findings, float64_findings(graph));
    for (const NodeProto& node : graph.graph().node()) {
      append(findings, round_trip(graph, node));
      append(findings, unfolded(graph, node));
      append(findings, attribute_epsilon(graph, node));
      append(findings, added_epsilon(graph, node));
      append(findings, long_softmax(graph, node, observed));
    }
  }
  return findings;
}

Findings check_indices(const ModelIndex& index, const Runs& runs) {
  Findings findings;
  for (const GraphIndex& graph : index.graphs())
    for (const NodeProto& node : graph.graph().node())
      append(findings, constant_indices(graph, node));
  if (!runs.ran()) return findings;
  for (std::size_t i = 0; i < runs.samples.front().size(); ++i)
    append(findings, last_index(index, runs, i));
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
      findings.push_back(make_finding("index-out-of-range", {SubjectKind::tensor, input.name},
                                      {StatementKind::given_index, {*past, found->second}}));
  }
  return findings;
}

}  // namespace vernier
