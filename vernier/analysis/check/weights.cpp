#include "vernier/analysis/check/groups.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "vernier/analysis/check/float_limits.h"
#include "vernier/error.h"
#include "vernier/model/blocks.h"
#include "vernier/model/onnx_type.h"

namespace vernier {
namespace {

constexpr double largest_f16 = 65504;
constexpr double subnormal_share_f32 = 0.01;
constexpr double subnormal_share_f16 = 0.1;
constexpr double dead_share = 0.1;  // fewer channels may be intended: the sine of frequency 0

// Counts from one pass over the elements.
struct Elements {
  std::int64_t count = 0;
  std::int64_t nan = 0;
  std::int64_t positive_inf = 0;
  std::int64_t negative_inf = 0;
  std::int64_t zero = 0;
  std::int64_t subnormal = 0;
  std::int64_t beyond_f16 = 0;  // finite elements only
  double largest = 0;           // magnitude, of finite elements
};

template <typename T>
void count_block(std::span<const T> block, double smallest, Elements& found) {
  const auto normal = static_cast<T>(smallest);
  T largest = 0;
  for (const T value : block) {
    const T magnitude = std::abs(value);
    const bool finite = magnitude <= std::numeric_limits<T>::max();
    found.nan += magnitude != magnitude;
    found.positive_inf += value > std::numeric_limits<T>::max();
    found.negative_inf += value < std::numeric_limits<T>::lowest();
    found.zero += magnitude == 0;
    found.subnormal += magnitude < normal && magnitude > 0;
    found.beyond_f16 += finite && magnitude > static_cast<T>(largest_f16);
    largest = finite && magnitude > largest ? magnitude : largest;
  }
  found.largest = std::max<double>(found.largest, largest);
}

Elements count_elements(const TensorView& tensor) {
  Elements found{.count = tensor.size()};
  const double normal = smallest_normal(tensor.dtype);
  visit_blocks(tensor, [&](auto block) { count_block(block, normal, found); });
  return found;
}

// Bounds (of Clip, Max) are single infinities; masks consist of 0 and -inf.
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
    findings.push_back(
        make_finding("nonfinite-constant", subject,
                     {StatementKind::nonfinite_elements, {found.nan, inf, found.count}}));
  if (dtype == DType::f32 && found.beyond_f16 > 0) {
    Finding finding =
        make_finding("fp16-overflow", subject,
                     {StatementKind::beyond_f16, {found.beyond_f16, found.count, found.largest}});
    if (is_cast_to_f16(graph, name)) finding.severity = Severity::warning;
    findings.push_back(std::move(finding));
  }
  const double share = static_cast<double>(found.subnormal) / static_cast<double>(found.count);
  if (found.count > 1 && share >= (dtype == DType::f16 ? subnormal_share_f16 : subnormal_share_f32))
    findings.push_back(make_finding(
        "subnormal-weights", subject,
        {StatementKind::subnormal_elements, {found.subnormal, found.count, 100 * share}}));
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

std::int64_t dead_channels(const TensorView& weight, int axis) {
  const std::int64_t channels = weight.shape[axis];
  const std::int64_t inner = element_count(weight.shape.subspan(axis + 1));
  std::vector<bool> alive(channels);
  std::int64_t at = 0;
  visit_blocks(weight, [&](auto block) {
    for (const auto value : block) {
      if (value != 0) alive[at / inner % channels] = true;
      ++at;
    }
  });
  return std::ranges::count(alive, false);
}

Findings dead_channels_of(const GraphIndex& graph, const std::string& name,
                          const TensorView& weight, std::int64_t zeros) {
  for (const NodeProto* node : graph.consumers(name)) {
    const int axis = input_name(*node, 1) == name ? channel_axis(*node, weight.shape.size()) : -1;
    if (axis < 0) continue;
    const std::int64_t channels = weight.shape[axis];
    const bool possible = channels > 0 && zeros >= weight.size() / channels;
    const std::int64_t dead = possible ? dead_channels(weight, axis) : 0;
    if (dead == 0) return {};
    Finding finding = make_finding(
        "dead-channels", tensor_subject(graph, name),
        {StatementKind::dead_channels, {dead, channels, node->op_type(), node_label(*node)}});
    if (static_cast<double>(dead) < dead_share * static_cast<double>(channels))
      finding.severity = Severity::note;
    return {finding};
  }
  return {};
}

// Weights that cannot be read are reported by check_files().
Findings check_weight(const Model& model, const Weight& weight) {
  const auto dtype = dtype_of_onnx(weight.proto->data_type());
  if (!dtype || !is_float(*dtype) || bits(*dtype) < 16) return {};
  try {
    const WeightView view = model.view(*weight.proto);
    if (view.size() == 0) return {};
    const Elements found = count_elements(view);
    Findings findings = judge(*weight.graph, weight.name, *dtype, found);
    append(findings, dead_channels_of(*weight.graph, weight.name, view, found.zero));
    return findings;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

Findings check_weights(const ModelIndex& index) {
  Findings findings;
  for (const Weight& weight : index.weights())
    append(findings, check_weight(index.model(), weight));
  return findings;
}

}  // namespace vernier
