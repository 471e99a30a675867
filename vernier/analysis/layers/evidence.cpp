#include "vernier/analysis/layers/evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "vernier/model/inference_mode.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/precision.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using Fact = LayerEvidence::Fact;

// Operators of which a module type needs at least one. Only types without which a graph still runs.
struct Implementation {
  std::string_view type;
  std::array<std::string_view, 4> operators;
};
constexpr std::array<Implementation, 19> implementations = {{
    {"ReLU", {"Relu", "Clip", "Max", "Where"}},
    {"ReLU6", {"Clip", "Relu", "Min", "Max"}},
    {"LeakyReLU", {"LeakyRelu", "Where", "Max", "PRelu"}},
    {"PReLU", {"PRelu", "Where", "LeakyRelu", ""}},
    {"ELU", {"Elu", "Exp", "", ""}},
    {"SELU", {"Selu", "Exp", "", ""}},
    {"Sigmoid", {"Sigmoid", "Exp", "", ""}},
    {"Tanh", {"Tanh", "Exp", "", ""}},
    {"GELU", {"Erf", "Gelu", "Tanh", "Sigmoid"}},
    {"SiLU", {"Sigmoid", "Swish", "Exp", ""}},
    {"Hardswish", {"HardSwish", "HardSigmoid", "Clip", ""}},
    {"Hardsigmoid", {"HardSigmoid", "Clip", "", ""}},
    {"Softmax", {"Softmax", "Exp", "", ""}},
    {"LogSoftmax", {"LogSoftmax", "Softmax", "Exp", "Log"}},
    {"LayerNorm", {"LayerNormalization", "ReduceMean", "", ""}},
    {"MaxPool2d", {"MaxPool", "ReduceMax", "", ""}},
    {"AvgPool2d", {"AveragePool", "ReduceMean", "GlobalAveragePool", ""}},
    {"Conv2d", {"Conv", "MatMul", "Gemm", ""}},
    {"Linear", {"Gemm", "MatMul", "Einsum", "Conv"}},
}};

// The unquantized weight behind a tensor that the region reads; null if there is none.
const TensorProto* weight_read(const Region& region, const std::string& tensor) {
  const WeightSource source = region.graph->weight_source(tensor);
  return source.dequantize ? nullptr : source.stored;
}

std::map<std::string, int> count_operators(const Region& region) {
  std::map<std::string, int> counts;
  for (const NodeProto* node : region.nodes)
    if (!is_bookkeeping(*node)) ++counts[node->op_type()];
  return counts;
}

// The operators of which `counts` has more than `others`.
std::vector<std::string> surplus(const std::map<std::string, int>& counts,
                                 const std::map<std::string, int>& others) {
  std::vector<std::string> names;
  for (const auto& [name, count] : counts) {
    const auto found = others.find(name);
    if (found == others.end() || found->second < count) names.push_back(name);
  }
  return names;
}

bool is_below_float32(DType dtype) { return is_float(dtype) && bits(dtype) < 32; }

// The first tensor below float32 that the node writes or reads.
LayerEvidence narrow_tensor(const NodeProto& node, const GraphIndex& graph) {
  for (const auto* names : {&node.output(), &node.input()})
    for (const std::string& name : *names)
      if (const auto dtype = graph.dtype(name); dtype && is_below_float32(*dtype))
        return {.fact = Fact::narrow_dtype,
                .node = node_label(node),
                .name = name,
                .candidate = {std::string(dtype_name(*dtype))}};
  return {};
}

// Negative infinity is what masks hold.
bool has_harmful_nonfinite(const TensorView& tensor) {
  return is_float(tensor.dtype) && std::ranges::any_of(to_f64(tensor), [](double value) {
           return std::isnan(value) || (std::isinf(value) && value > 0);
         });
}

}  // namespace

LayerEvidence training_operator(const Region& region) {
  for (const NodeProto* node : region.nodes)
    if (computes_as_in_training(*node, *region.graph))
      return {.fact = Fact::training_mode, .node = node_label(*node), .name = node->op_type()};
  return {};
}

bool knows_operators(const std::string& type) {
  return std::ranges::find(implementations, type, &Implementation::type) != implementations.end();
}

bool may_compute(const NodeProto& node, const std::string& type) {
  const auto known = std::ranges::find(implementations, type, &Implementation::type);
  const bool is_foreign = !is_op(node, node.op_type());
  return known == implementations.end() || is_foreign || is_quantizing(node) ||
         std::ranges::find(known->operators, node.op_type()) != known->operators.end();
}

LayerEvidence missing_operator(const Region& region, const std::string& type) {
  if (!knows_operators(type) || region.nodes.empty()) return {};
  for (const NodeProto* node : region.nodes)
    if (may_compute(*node, type)) return {};
  return {.fact = Fact::lacks_operator, .candidate = operator_names(region)};
}

LayerEvidence differing_operators(const Region& reference, const Region& candidate) {
  const auto quantizes = [](const NodeProto* node) { return is_quantizing(*node); };
  if (std::ranges::any_of(candidate.nodes, quantizes)) return {};
  const auto expected = count_operators(reference);
  const auto found = count_operators(candidate);
  LayerEvidence evidence{.fact = Fact::other_operators,
                         .reference = surplus(expected, found),
                         .candidate = surplus(found, expected)};
  if (evidence.reference.empty() && evidence.candidate.empty()) return {};
  return evidence;
}

std::vector<std::string> operator_names(const Region& region) {
  std::vector<std::string> names;
  for (auto node = region.nodes.rbegin(); node != region.nodes.rend(); ++node)
    if (!is_op(**node, "Constant")) names.push_back((*node)->op_type());
  if (std::ranges::any_of(names, [](const std::string& name) { return name != "Identity"; }))
    std::erase(names, "Identity");
  return names;
}

bool is_bookkeeping(const NodeProto& node) {
  return is_one_of(node, {"Constant", "Identity", "Shape", "Cast"});
}

std::set<std::string> names_read(const Region& region) {
  std::set<std::string> names;
  for (const NodeProto* node : region.nodes)
    for (const std::string& input : node->input())
      if (const TensorProto* stored = weight_read(region, input)) {
        names.insert(input);
        if (!stored->name().empty()) names.insert(stored->name());
      }
  return names;
}

LayerEvidence differing_weight(const Region& region, std::span<const ComparedWeight> compared,
                               const std::string& layer) {
  const std::set<std::string> names = names_read(region);
  const ComparedWeight* worst = nullptr;
  for (const ComparedWeight& weight : compared) {
    const bool differs =
        weight.match == WeightMatch::differs || weight.match == WeightMatch::unlike;
    if (!differs || (weight.module != layer && !names.contains(weight.initializer))) continue;
    if (!worst || !(weight.sqnr_db >= worst->sqnr_db)) worst = &weight;
  }
  return worst ? LayerEvidence{.fact = Fact::weight_differs, .weight = *worst} : LayerEvidence();
}

LayerEvidence low_precision(const Region& region) {
  for (const NodeProto* node : region.nodes) {
    if (LayerEvidence narrow = narrow_tensor(*node, *region.graph)) return narrow;
    if (is_quantizing(*node))
      return {.fact = Fact::quantized, .node = node_label(*node), .name = node->op_type()};
  }
  return {};
}

std::string nonfinite_constant(const Region& region) {
  for (const std::string& name : names_read(region)) {
    const TensorProto* stored = weight_read(region, name);
    if (stored && dtype_of_onnx(stored->data_type()) &&
        has_harmful_nonfinite(region.graph->index().model().view(*stored)))
      return name;
  }
  return "";
}

}  // namespace vernier
