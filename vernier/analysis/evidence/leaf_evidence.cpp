#include "vernier/analysis/evidence/leaf_evidence.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "vernier/analysis/evidence/gelu.h"
#include "vernier/analysis/pairing/counterpart.h"
#include "vernier/model/index.h"
#include "vernier/model/scope.h"

namespace vernier {
namespace {

bool are_alike(double first, double second) {
  constexpr double rounding = 2e-3;  // of half precision, relative
  return std::abs(first - second) <= rounding * std::abs(first);
}

// The constant of a leaf; nullopt if it has none of this name.
std::optional<double> leaf_number(const WatchedTensor& leaf, const char* name) {
  const auto found = leaf.constants.find(name);
  return found == leaf.constants.end() ? std::nullopt : std::optional(found->second);
}

bool has_type(const WatchedTensor& leaf, std::initializer_list<std::string_view> types) {
  return std::ranges::find(types, leaf.type) != types.end();
}

// The leaf's upper bound; nullopt if it has none.
std::optional<double> upper_bound_of(const WatchedTensor& leaf) {
  if (leaf.type == "ReLU6") return 6;
  return leaf.type == "Hardtanh" ? leaf_number(leaf, "max_val") : std::nullopt;
}

// The node's upper bound: a Clip's maximum, also of a Clip fused into a convolution, or the
// constant of a Min. nullopt if it has none.
std::optional<double> upper_bound_of(const NodeProto& node, const GraphIndex& graph) {
  if (const auto clip = clip_range(node, graph); clip && std::isfinite(clip->high))
    return clip->high;
  if (attribute_string(node, "activation", "") == "Clip")
    if (const auto* bounds = attribute(node, "activation_params");
        bounds && bounds->floats_size() > 1)
      return bounds->floats(1);
  if (is_op(node, "Min"))
    for (const std::string& input : node.input())
      if (const auto bound = graph.number(input)) return bound;
  return std::nullopt;
}

// The label of the last node of the leaf's module; the leaf's name if its node is not known.
std::string place_of(const WatchedTensor& leaf, const GraphIndex& graph) {
  std::string label = leaf.name;
  for (const NodeProto& node : graph.graph().node())
    if (module_path(node) == leaf.name) label = node_label(node);
  return label;
}

// How many Hardswish and Hardsigmoid leaves are exported as several nodes, one bounded by 6.
std::ptrdiff_t written_with_six(std::span<const WatchedTensor> leaves, const GraphIndex& graph) {
  const auto smooth = std::ranges::count_if(leaves, [](const WatchedTensor& leaf) {
    return has_type(leaf, {"Hardswish", "Hardsigmoid"});
  });
  const auto whole = std::ranges::count_if(graph.graph().node(), [](const NodeProto& node) {
    return is_op(node, "HardSwish") || is_op(node, "HardSigmoid") ||
           attribute_string(node, "activation") == "HardSigmoid";
  });
  return std::max<std::ptrdiff_t>(smooth - whole, 0);
}

// The first leaf whose upper bound fewer nodes of the candidate have than leaves; empty if none.
std::string find_lost_upper_bound(std::span<const WatchedTensor> leaves, const GraphIndex& graph) {
  std::set<double> seen;
  for (const WatchedTensor& leaf : leaves) {
    const auto bound = upper_bound_of(leaf);
    if (!bound || !std::isfinite(*bound) || !seen.insert(*bound).second) continue;
    std::ptrdiff_t wanted = *bound == 6 ? written_with_six(leaves, graph) : 0, found = 0;
    for (const WatchedTensor& each : leaves)
      if (const auto other = upper_bound_of(each)) wanted += are_alike(*bound, *other);
    std::vector<std::string> bounded;  // modules with a node that has this bound
    for (const NodeProto& node : graph.graph().node())
      if (const auto other = upper_bound_of(node, graph); other && are_alike(*bound, *other)) {
        ++found;
        bounded.push_back(module_path(node));
      }
    if (found >= wanted) continue;
    for (const WatchedTensor& each : leaves)  // one without such a node, if modules are known
      if (upper_bound_of(each) == bound && std::ranges::find(bounded, each.name) == bounded.end())
        return place_of(each, graph);
    return leaf.name;
  }
  return "";
}

// A constant of a leaf type that exporters write as an attribute of one operator.
struct ExportedNumber {
  std::string_view leaf;  // prefix of the leaf's type
  const char* constant;
  const char* op;
  const char* attribute;
  float otherwise;  // the attribute's default
};
constexpr std::array<ExportedNumber, 6> exported_numbers = {
    {{"LayerNorm", "eps", "LayerNormalization", "epsilon", 1e-5F},
     {"InstanceNorm", "eps", "InstanceNormalization", "epsilon", 1e-5F},
     {"BatchNorm", "eps", "BatchNormalization", "epsilon", 1e-5F},
     {"LeakyReLU", "negative_slope", "LeakyRelu", "alpha", 0.01F},
     {"ELU", "alpha", "Elu", "alpha", 1.0F},
     {"CELU", "alpha", "Celu", "alpha", 1.0F}}};

// The first node whose attribute equals no leaf's constant; empty if none, or if the numbers of
// nodes and leaves differ.
std::string find_other_number(std::span<const WatchedTensor> leaves, const GraphIndex& graph,
                              const ExportedNumber& exported) {
  std::vector<double> expected;
  for (const WatchedTensor& leaf : leaves) {
    if (!leaf.type.starts_with(exported.leaf)) continue;
    const auto number = leaf_number(leaf, exported.constant);
    if (!number) return "";
    expected.push_back(*number);
  }
  std::vector<const NodeProto*> nodes;
  for (const NodeProto& node : graph.graph().node())
    if (is_op(node, exported.op)) nodes.push_back(&node);
  if (expected.size() != nodes.size()) return "";
  for (const NodeProto* node : nodes) {
    const double number = attribute_float(*node, exported.attribute, exported.otherwise);
    const auto same =
        std::ranges::find_if(expected, [&](double each) { return are_alike(each, number); });
    if (same == expected.end()) return node_label(*node);
    expected.erase(same);
  }
  return "";
}

// A GELU of the other form than its leaf's, where modules are known; else the first of the form of
// which there are more than leaves. Empty if there is none.
std::string find_other_approximation(std::span<const WatchedTensor> leaves,
                                     const GraphIndex& graph) {
  std::ptrdiff_t exact = 0, tanh = 0;
  for (const WatchedTensor& leaf : leaves)
    if (const auto approximate = leaf_number(leaf, "approximate"))
      ++(*approximate != 0 ? tanh : exact);
  const NodeProto* other = find_other_gelu(exact, tanh, graph);
  if (!other) return "";
  for (const FoundGelu& gelu : find_gelus(graph))
    for (const WatchedTensor& leaf : leaves)
      if (const auto approximate = leaf_number(leaf, "approximate");
          approximate && module_path(*gelu.node) == leaf.name &&
          (*approximate != 0) != (gelu.form == GeluForm::tanh))
        return node_label(*gelu.node);
  return node_label(*other);
}

}  // namespace

std::string find_other_leaf(std::span<const WatchedTensor> leaves, const ModelIndex& candidate) {
  if (candidate.graphs().size() > 1 || candidate.model().proto().functions_size() > 0 ||
      std::ranges::any_of(leaves, &WatchedTensor::in_control_flow))
    return "";
  const GraphIndex& graph = candidate.main();
  if (std::string lost = find_lost_upper_bound(leaves, graph); !lost.empty()) return lost;
  if (std::string other = find_other_approximation(leaves, graph); !other.empty()) return other;
  for (const ExportedNumber& exported : exported_numbers)
    if (std::string other = find_other_number(leaves, graph, exported); !other.empty())
      return other;
  return "";
}

}  // namespace vernier
