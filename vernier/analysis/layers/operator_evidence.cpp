#include "vernier/analysis/layers/operator_evidence.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using vernier_onnx::AttributeProto;
using vernier_onnx::NodeProto;

// By module type, the operators of which at least one takes part. Only what a graph runs without.
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

// The first element of a small constant that the node reads.
std::optional<double> constant_input(const NodeProto& node, int input,
                                     const StoredWeights& weights) {
  if (input >= node.input_size() || node.input(input).empty()) return std::nullopt;
  const auto* stored = weights.find(node.input(input));
  if (!stored || element_count(shape_of(*stored)) != 1) return std::nullopt;
  return to_f64(weights.read(*stored))[0];
}

bool is_training_dropout(const NodeProto& node, const StoredWeights& weights) {
  return is_op(node, "Dropout") && constant_input(node, 2, weights).value_or(0) != 0 &&
         constant_input(node, 1, weights).value_or(0.5) != 0;
}

// Opset 14 says so; before it, asking for the batch's statistics meant it.
bool is_training_norm(const NodeProto& node) {
  return is_op(node, "BatchNormalization") &&
         (attribute_int(node, "training_mode", 0) != 0 || node.output_size() > 3);
}

std::map<std::string, int> count_operators(const Region& region) {
  std::map<std::string, int> counts;
  for (const NodeProto* node : region.nodes)
    if (!is_bookkeeping(*node)) ++counts[node->op_type()];
  return counts;
}

// What `counts` has more of than `others`.
std::vector<std::string> surplus(const std::map<std::string, int>& counts,
                                 const std::map<std::string, int>& others) {
  std::vector<std::string> names;
  for (const auto& [name, count] : counts) {
    const auto found = others.find(name);
    if (found == others.end() || found->second < count) names.push_back(name);
  }
  return names;
}

std::string format_attribute(const AttributeProto* attribute) {
  if (!attribute) return "unset";
  switch (attribute->type()) {
    case AttributeProto::FLOAT: return fmt::format("{:g}", attribute->f());
    case AttributeProto::INT: return fmt::format("{}", attribute->i());
    case AttributeProto::STRING: return attribute->s();
    case AttributeProto::INTS: return fmt::format("[{}]", fmt::join(attribute->ints(), ","));
    default: return "another value";
  }
}

std::string differing_attribute(const NodeProto& reference, const NodeProto& candidate) {
  for (const auto& [one, other] : {std::pair(&reference, &candidate), {&candidate, &reference}})
    for (const AttributeProto& set : one->attribute()) {
      const AttributeProto* counterpart = attribute(*other, set.name());
      if (counterpart && counterpart->SerializeAsString() == set.SerializeAsString()) continue;
      return fmt::format("{} of {} is {} in the candidate, {} in the reference", set.name(),
                         node_label(candidate), format_attribute(attribute(candidate, set.name())),
                         format_attribute(attribute(reference, set.name())));
    }
  return "";
}

// The epsilon of a normalisation, also one that is written out: a constant added before a root.
std::optional<double> epsilon_of(const NodeProto& node, const Region& region,
                                 const StoredWeights& weights) {
  if (const auto* set = attribute(node, "epsilon")) return double{set->f()};
  if (!is_op(node, "Add")) return std::nullopt;
  const bool before_root = std::ranges::any_of(region.nodes, [&](const NodeProto* reader) {
    return is_op(*reader, "Sqrt") && reader->input(0) == node.output(0);
  });
  if (!before_root) return std::nullopt;
  const auto second = constant_input(node, 1, weights);
  return second ? second : constant_input(node, 0, weights);
}

std::optional<double> slope_of(const NodeProto& node) {
  if (!is_op(node, "LeakyRelu")) return std::nullopt;
  return double{attribute_float(node, "alpha", 0.01F)};
}

bool same_in_float32(double left, double right) {
  return std::fabs(left - right) <= 1e-6 * std::max(std::fabs(left), std::fabs(right));
}

std::string differing_value(const WatchedTensor& leaf, const std::string& constant,
                            std::optional<double> found, const NodeProto& node) {
  const auto expected = leaf.constants.find(constant);
  if (!found || expected == leaf.constants.end() || same_in_float32(*found, expected->second))
    return "";
  return fmt::format("{} of {} is {:g} in the candidate, {:g} in the reference", constant,
                     node_label(node), *found, expected->second);
}

}  // namespace

std::string training_operator(const Region& region, const StoredWeights& weights) {
  for (const NodeProto* node : region.nodes)
    if (is_training_dropout(*node, weights) || is_training_norm(*node))
      return fmt::format("{} {} computes as in training", node->op_type(), node_label(*node));
  return "";
}

std::string missing_operator(const Region& region, const std::string& type) {
  const auto known = std::ranges::find(implementations, type, &Implementation::type);
  if (known == implementations.end() || region.nodes.empty()) return "";
  for (const NodeProto* node : region.nodes) {
    const bool foreign = !is_op(*node, node->op_type());
    if (foreign || is_quantized(*node) ||
        std::ranges::find(known->operators, node->op_type()) != known->operators.end())
      return "";
  }
  return fmt::format("no operator computes the {}: there is only {}", type, operator_names(region));
}

std::string differing_operators(const Region& reference, const Region& candidate) {
  const auto quantizes = [](const NodeProto* node) { return is_quantized(*node); };
  if (std::ranges::any_of(candidate.nodes, quantizes)) return "";
  const auto expected = count_operators(reference);
  const auto found = count_operators(candidate);
  const auto missing = surplus(expected, found);
  const auto extra = surplus(found, expected);
  if (missing.empty() && extra.empty()) return "";
  std::string text;
  if (!missing.empty()) text = fmt::format("the reference has {}", fmt::join(missing, ", "));
  if (!extra.empty())
    text += fmt::format("{}the candidate has {}", text.empty() ? "" : " where ",
                        fmt::join(extra, ", "));
  return text + (missing.empty() ? " more" : extra.empty() ? " more" : "");
}

std::string differing_attribute(const Region& reference, const Region& candidate) {
  if (reference.nodes.size() != candidate.nodes.size()) return "";
  for (std::size_t i = 0; i < reference.nodes.size(); ++i) {
    if (reference.nodes[i]->op_type() != candidate.nodes[i]->op_type()) return "";
    const std::string found = differing_attribute(*reference.nodes[i], *candidate.nodes[i]);
    if (!found.empty()) return found;
  }
  return "";
}

std::string differing_constant(const Region& region, const StoredWeights& weights,
                               const WatchedTensor& leaf) {
  for (const NodeProto* node : region.nodes) {
    std::string found = differing_value(leaf, "eps", epsilon_of(*node, region, weights), *node);
    if (found.empty()) found = differing_value(leaf, "negative_slope", slope_of(*node), *node);
    if (!found.empty()) return found;
  }
  return "";
}

std::string operator_names(const Region& region) {
  constexpr std::size_t most_names = 6;
  std::vector<std::string> names;
  for (auto node = region.nodes.rbegin(); node != region.nodes.rend(); ++node)
    if (!is_op(**node, "Constant")) names.push_back((*node)->op_type());
  if (std::ranges::any_of(names, [](const std::string& name) { return name != "Identity"; }))
    std::erase(names, "Identity");
  if (names.empty()) return "nothing";
  if (names.size() > most_names)
    return fmt::format("{} operators up to {}", names.size(), names.back());
  return fmt::format("{}", fmt::join(names, ", "));
}

bool is_quantized(const NodeProto& node) {
  static constexpr std::array<std::string_view, 9> operators = {
      "QuantizeLinear", "DequantizeLinear",     "DynamicQuantizeLinear",
      "MatMulInteger",  "ConvInteger",          "DynamicQuantizeMatMul",
      "MatMulNBits",    "MatMulIntegerToFloat", "QGemm"};
  return node.op_type().starts_with("QLinear") ||
         std::ranges::find(operators, node.op_type()) != operators.end();
}

bool is_bookkeeping(const NodeProto& node) {
  static constexpr std::array<std::string_view, 4> names = {"Constant", "Identity", "Shape",
                                                            "Cast"};
  return std::ranges::find(names, node.op_type()) != names.end();
}

}  // namespace vernier
