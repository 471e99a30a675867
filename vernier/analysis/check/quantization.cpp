#include "vernier/analysis/check/groups.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

#include "vernier/analysis/check/float_limits.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/quantization.h"
#include "vernier/model/quantizer.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// A quantizer that uses less than this share of its range loses three bits or more.
constexpr double least_filled = 1.0 / 8;

bool is_quantize(const NodeProto& node) { return node.op_type() == "QuantizeLinear"; }
bool is_dequantize(const NodeProto& node) { return node.op_type() == "DequantizeLinear"; }

// Operators that move integers without changing them, or that know their scale.
bool takes_stored_numbers(const NodeProto& node) {
  constexpr std::array<std::string_view, 17> movers = {
      "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten",  "Slice",
      "Concat",  "Gather",    "Clip",    "Split",     "Identity", "MaxPool",
      "Pad",     "Expand",    "Resize",  "Tile",      "Where"};
  if (is_op(node, "Cast")) {
    const auto to = dtype_of_onnx(static_cast<int>(attribute_int(node, "to", 0)));
    return to && is_integer(*to);
  }
  return is_dequantize(node) || node.op_type().starts_with("QLinear") ||
         node.op_type().starts_with("QGemm") || node.op_type().starts_with("QAttention") ||
         node.op_type().ends_with("Integer") || node.op_type().starts_with("If") ||
         node.op_type() == "Loop" || node.op_type() == "Scan" || is_one_of(node, movers);
}

Findings unpaired(const GraphIndex& graph, const NodeProto& node) {
  if (!is_quantize(node) || node.output_size() == 0) return {};
  Findings findings;
  for (const NodeProto* reader : graph.consumers(node.output(0)))
    if (!takes_stored_numbers(*reader))
      findings.push_back(make_finding(
          "unpaired-quantize", node_subject(graph, node),
          {StatementKind::unpaired_quantize, {reader->op_type(), node_label(*reader)}}));
  return findings;
}

double first_of(const std::vector<double>& numbers) {
  return numbers.empty() ? 0 : numbers.front();
}

// The node whose output a quantizer reads, its scale and zero point, and those of the quantizer;
// empty if they agree or one is computed.
std::vector<StatementValue> disagreement(const GraphIndex& graph, const NodeProto& node,
                                         bool (*is_before)(const NodeProto&)) {
  const NodeProto* before = node.input_size() < 2 ? nullptr : graph.producer(node.input(0));
  if (!before || !is_before(*before) || before->input_size() < 2) return {};
  const auto numbers = [&](const NodeProto& of, int input) {
    return graph.numbers(input_name(of, input));
  };
  const auto scale_before = numbers(*before, 1), scale = numbers(node, 1);
  if (!scale_before || !scale) return {};
  const std::vector<double> zeros(scale->size(), 0);
  const auto zero_before = numbers(*before, 2).value_or(zeros);
  const auto zero = numbers(node, 2).value_or(zeros);
  if (scale_before == scale && zero_before == zero) return {};
  return {node_label(*before), first_of(*scale_before), first_of(zero_before), first_of(*scale),
          first_of(zero)};
}

// A DequantizeLinear behind a QuantizeLinear with other parameters.
Findings mismatched(const GraphIndex& graph, const NodeProto& node) {
  if (!is_dequantize(node)) return {};
  auto found = disagreement(graph, node, is_quantize);
  if (found.empty()) return {};
  return {make_finding("mismatched-pair", node_subject(graph, node),
                       {StatementKind::mismatched_pair, std::move(found)})};
}

// A QuantizeLinear behind a DequantizeLinear with other parameters.
Findings requantized(const GraphIndex& graph, const NodeProto& node) {
  if (!is_quantize(node)) return {};
  auto found = disagreement(graph, node, is_dequantize);
  if (found.empty()) return {};
  return {make_finding("differing-requantize", node_subject(graph, node),
                       {StatementKind::requantized, std::move(found)})};
}

// A subnormal float16 scale is only a warning: it has few bits but works.
std::optional<Finding> scale_finding(const Tensor& scale, const Subject& subject) {
  const std::vector<double> numbers = to_f64(scale);
  const std::int64_t count = std::ssize(numbers);
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = numbers[i];
    const bool broken = !std::isfinite(value) || value <= 0;
    if (!broken && value >= smallest_normal(scale.dtype)) continue;
    const Statement which = count == 1 ? Statement{StatementKind::only_scale}
                                       : Statement{StatementKind::scale_of, {i, count}};
    Finding finding = make_finding(
        "degenerate-scale", subject,
        {broken ? StatementKind::broken_scale : StatementKind::subnormal_scale, {which, value}});
    if (!broken && scale.dtype == DType::f16) finding.severity = Severity::warning;
    return finding;
  }
  return std::nullopt;
}

// The first number of a typed field that does not fit into the element type; nullopt if all fit.
// Signed and unsigned are not distinguished, since readers take the lowest bits.
std::optional<std::int64_t> beyond_its_type(const TensorProto& proto) {
  const auto dtype = dtype_of_onnx(proto.data_type());
  if (!dtype || !is_integer(*dtype) || bits(*dtype) < 8 || bits(*dtype) > 16) return std::nullopt;
  const std::int64_t values = std::int64_t{1} << bits(*dtype);
  for (const std::int64_t value : proto.int32_data())
    if (value < -values / 2 || value >= values) return value;
  return std::nullopt;
}

// Why a zero point is out of range; none if it is not.
Statement zero_point_evidence(const GraphIndex& graph, const NodeProto& node) {
  const std::string name = input_name(node, 2);
  const TensorProto* proto = graph.constant(name);
  if (!proto) return {};
  if (const auto value = beyond_its_type(*proto))
    return {StatementKind::zero_point_overflow, {*value, onnx_type_name(proto->data_type())}};
  const auto dtype = dtype_of_onnx(proto->data_type());
  const auto stored = is_dequantize(node) ? graph.dtype(input_name(node, 0)) : std::nullopt;
  if (dtype && stored && dtype != stored)
    return {StatementKind::zero_point_type, {*dtype, *stored}};
  const bool must_be_zero = dtype && (dtype == DType::i32 || is_float(*dtype));
  const auto numbers = graph.numbers(name);
  if (must_be_zero && numbers)
    for (const double value : *numbers)
      if (value != 0) return {StatementKind::nonzero_zero_point, {value, *dtype}};
  return {};
}

Findings quantizer_findings(const GraphIndex& graph, const NodeProto& node) {
  if (!is_quantize(node) && !is_dequantize(node)) return {};
  Findings findings;
  if (const auto scale = graph.value(input_name(node, 1)))
    if (auto finding = scale_finding(*scale, node_subject(graph, node)))
      findings.push_back(std::move(*finding));
  Statement evidence = zero_point_evidence(graph, node);
  if (evidence.kind != StatementKind::none)
    findings.push_back(
        make_finding("zero-point-range", node_subject(graph, node), std::move(evidence)));
  return findings;
}

// ---- float operators between quantized ones

bool is_weighted(const NodeProto& node) {
  return is_op(node, "Conv") || is_op(node, "ConvTranspose") || is_op(node, "MatMul") ||
         is_op(node, "Gemm");
}

bool is_quantized_operator(const GraphIndex& graph, const NodeProto& node) {
  if (node.op_type().starts_with("QLinearConv") || node.op_type().starts_with("QLinearMatMul"))
    return true;
  if (!is_weighted(node)) return false;
  const NodeProto* weight = graph.producer(input_name(node, 1));
  const NodeProto* activation = graph.producer(input_name(node, 0));
  return weight && is_dequantize(*weight) && activation && is_dequantize(*activation);
}

// Nodes that depend on a quantized operator.
std::unordered_set<const NodeProto*> behind_quantized(const GraphIndex& graph) {
  std::unordered_set<const NodeProto*> reached;
  for (const NodeProto& node : graph.graph().node())
    for (const auto& input : node.input()) {
      const NodeProto* before = graph.producer(input);
      if (before && (reached.contains(before) || is_quantized_operator(graph, *before)))
        reached.insert(&node);
    }
  return reached;
}

std::unordered_set<const NodeProto*> before_quantized(const GraphIndex& graph) {
  std::unordered_set<const NodeProto*> reached;
  for (int i = graph.graph().node_size() - 1; i >= 0; --i) {
    const NodeProto& node = graph.graph().node(i);
    for (const auto& output : node.output())
      for (const NodeProto* after : graph.consumers(output))
        if (reached.contains(after) || is_quantized_operator(graph, *after)) reached.insert(&node);
  }
  return reached;
}

Findings unquantized(const GraphIndex& graph) {
  const auto behind = behind_quantized(graph), before = before_quantized(graph);
  Findings findings;
  for (const NodeProto& node : graph.graph().node()) {
    const bool has_float_weight = is_weighted(node) && graph.constant(input_name(node, 1));
    if (has_float_weight && behind.contains(&node) && before.contains(&node))
      findings.push_back(make_finding("unquantized-operator", node_subject(graph, node),
                                      {StatementKind::float_weight, {node.op_type()}}));
  }
  return findings;
}

// ---- calibration ranges

// The range of an operator's output, whatever its input; nullopt if unbounded.
std::optional<RealRange> output_range(std::string_view op_type) {
  if (op_type == "Sigmoid" || op_type == "HardSigmoid" || op_type == "Softmax")
    return RealRange{.low = 0, .high = 1};
  if (op_type == "Tanh") return RealRange{.low = -1, .high = 1};
  return std::nullopt;
}

Findings unfilled(const ModelIndex& index, const QuantizedActivation& activation,
                  const std::optional<RealRange>& seen, const StatementValue& what) {
  const auto range = representable_range(activation.quantizer);
  if (!range || !seen) return {};
  const double filled = std::max(std::abs(seen->low), std::abs(seen->high)) /
                        std::max(std::abs(range->low), std::abs(range->high));
  if (filled >= least_filled) return {};
  const FoundNode* node = index.node(activation.node);
  return {make_finding(
      "unfilled-range",
      node ? node_subject(*node->graph, *node->node) : Subject{SubjectKind::node, activation.node},
      {StatementKind::unfilled_range,
       {activation.name, range->low, range->high, what, seen->low, seen->high}})};
}

}  // namespace

Findings check_calibration(const ModelIndex& index, const ObservedTensors& observed,
                           bool given_samples) {
  Findings findings;
  for (const QuantizedActivation& activation : find_quantization(index).activations) {
    if (activation.dynamic) continue;  // its range follows from the data
    Findings bounded =
        unfilled(index, activation, output_range(activation.writer_op), activation.writer_op);
    const auto seen = observed.ranges.find(activation.before);
    if (bounded.empty() && given_samples && seen != observed.ranges.end())
      bounded = unfilled(index, activation, seen->second, Statement{StatementKind::given_data});
    append(findings, std::move(bounded));
  }
  return findings;
}

Findings check_quantization(const ModelIndex& index) {
  Findings findings;
  for (const GraphIndex& graph : index.graphs()) {
    for (const NodeProto& node : graph.graph().node()) {
      append(findings, unpaired(graph, node));
      append(findings, mismatched(graph, node));
      append(findings, requantized(graph, node));
      append(findings, quantizer_findings(graph, node));
    }
    append(findings, unquantized(graph));
  }
  return findings;
}

}  // namespace vernier
