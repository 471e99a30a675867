#include "vernier/analysis/check/groups.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "vernier/analysis/check/float_limits.h"
#include "vernier/model/onnx_type.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;
using vernier_onnx::TensorProto;

constexpr double largest_f16 = 65504;
constexpr double subnormal_share_f32 = 0.01;
constexpr double subnormal_share_f16 = 0.1;
constexpr double dead_share = 0.1;  // fewer channels may be meant: the sine of frequency 0

// What one pass over the elements counts.
struct Elements {
  std::int64_t count = 0;
  std::int64_t nan = 0;
  std::int64_t positive_inf = 0;
  std::int64_t negative_inf = 0;
  std::int64_t zero = 0;
  std::int64_t subnormal = 0;
  std::int64_t beyond_f16 = 0;  // finite
  double largest = 0;           // magnitude of a finite element
};

void count_element(double value, double normal, Elements& found) {
  const double magnitude = std::abs(value);
  if (std::isnan(value))
    ++found.nan;
  else if (std::isinf(value))
    ++(value > 0 ? found.positive_inf : found.negative_inf);
  else if (magnitude == 0)
    ++found.zero;
  else if (magnitude < normal)
    ++found.subnormal;
  else
    found.largest = std::max(found.largest, magnitude);
  found.beyond_f16 += std::isfinite(value) && magnitude > largest_f16;
}

Elements count_elements(const Tensor& tensor) {
  Elements found{.count = tensor.size()};
  const double normal = smallest_normal(tensor.dtype);
  std::array<double, 4096> chunk;
  for (std::int64_t begin = 0; begin < found.count; begin += std::ssize(chunk)) {
    const auto size = std::min<std::int64_t>(std::ssize(chunk), found.count - begin);
    const std::span part(chunk.data(), static_cast<std::size_t>(size));
    widen(tensor, begin, part);
    for (const double value : part) count_element(value, normal, found);
  }
  return found;
}

// Bounds (of Clip, Max...) are single infinities; masks consist of 0 and -inf.
bool is_bound_or_mask(const Elements& found) {
  return found.count == 1 ||
         (found.positive_inf == 0 && found.negative_inf + found.zero == found.count);
}

bool is_cast_to_f16(const GraphIndex& graph, const std::string& tensor) {
  return std::ranges::any_of(graph.consumers(tensor), [](const NodeProto* node) {
    return is_op(*node, "Cast") && attribute_int(*node, "to", 0) == TensorProto::FLOAT16;
  });
}

Findings judge(const GraphIndex& graph, const std::string& name, DType dtype,
               const Elements& found) {
  Findings findings;
  const Subject subject = tensor_subject(graph, name);
  const std::int64_t inf = found.positive_inf + found.negative_inf;
  if (found.nan > 0 || (inf > 0 && !is_bound_or_mask(found)))
    findings.push_back(make_finding(
        "nonfinite-constant", subject,
        fmt::format("{} NaN and {} infinite of {} elements", found.nan, inf, found.count)));
  if (dtype == DType::f32 && found.beyond_f16 > 0) {
    Finding finding = make_finding("fp16-overflow", subject,
                                   fmt::format("{} of {} elements are beyond 65504, up to {:g}",
                                               found.beyond_f16, found.count, found.largest));
    if (is_cast_to_f16(graph, name)) finding.severity = Severity::warning;
    findings.push_back(std::move(finding));
  }
  const double share = static_cast<double>(found.subnormal) / static_cast<double>(found.count);
  if (found.count > 1 && share >= (dtype == DType::f16 ? subnormal_share_f16 : subnormal_share_f32))
    findings.push_back(make_finding("subnormal-weights", subject,
                                    fmt::format("{} of {} elements ({:.1f}%) are subnormal",
                                                found.subnormal, found.count, 100 * share)));
  return findings;
}

// ---- dead channels

// The axis of output channels in the weight of a Conv, Gemm or MatMul; -1 for other operators.
int channel_axis(const NodeProto& node, std::size_t rank) {
  if (is_op(node, "Conv") && rank > 2) return 0;
  if (is_op(node, "Gemm") && rank == 2) return attribute_int(node, "transB", 0) != 0 ? 0 : 1;
  if (is_op(node, "MatMul") && rank == 2) return 1;
  return -1;
}

std::int64_t dead_channels(const Tensor& weight, int axis) {
  const std::int64_t channels = weight.shape[axis];
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < weight.shape.size(); ++i) inner *= weight.shape[i];
  std::vector<bool> alive(channels);
  const std::vector<float> values = to_f32(weight);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != 0) alive[(static_cast<std::int64_t>(i) / inner) % channels] = true;
  return std::ranges::count(alive, false);
}

Findings dead_channels_of(const GraphIndex& graph, const std::string& name, const Tensor& weight) {
  for (const NodeProto* node : graph.consumers(name)) {
    const int axis = input_name(*node, 1) == name ? channel_axis(*node, weight.shape.size()) : -1;
    if (axis < 0) continue;
    const std::int64_t channels = weight.shape[axis];
    const std::int64_t dead = dead_channels(weight, axis);
    if (dead == 0) return {};
    Finding finding = make_finding("dead-channels", tensor_subject(graph, name),
                                   fmt::format("{} of {} output channels of {} '{}' are all zero",
                                               dead, channels, node->op_type(), node_label(*node)));
    if (static_cast<double>(dead) < dead_share * static_cast<double>(channels))
      finding.severity = Severity::note;
    return {finding};
  }
  return {};
}

Findings check_constant(const GraphIndex& graph, const std::string& name,
                        const TensorProto& proto) {
  const auto dtype = dtype_of_onnx(proto.data_type());
  if (!dtype || !is_float(*dtype) || bits(*dtype) < 16) return {};
  const std::optional<Tensor> tensor = graph.value(name);
  if (!tensor || tensor->size() == 0) return {};
  const Elements found = count_elements(*tensor);
  Findings findings = judge(graph, name, *dtype, found);
  if (found.zero > 0) append(findings, dead_channels_of(graph, name, *tensor));
  return findings;
}

}  // namespace

Findings check_weights(const ModelIndex& index) {
  Findings findings;
  for (const GraphIndex& graph : index.graphs()) {
    for (const TensorProto& weight : graph.graph().initializer())
      append(findings, check_constant(graph, weight.name(), weight));
    for (const NodeProto& node : graph.graph().node())
      if (is_op(node, "Constant") && node.output_size() == 1)
        if (const TensorProto* proto = graph.constant(node.output(0)))
          append(findings, check_constant(graph, node.output(0), *proto));
  }
  return findings;
}

}  // namespace vernier
