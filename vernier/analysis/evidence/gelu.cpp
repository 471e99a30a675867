#include "vernier/analysis/evidence/gelu.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace vernier {
namespace {

// x + 0.044715 x^3, times sqrt(2 / pi), which an optimiser may have multiplied by the factor.
bool is_cubic_factor(double number) {
  constexpr double factor = 0.044715, scaled = factor * 0.7978845608;
  constexpr double rounding = 4e-3;  // of bfloat16, relative
  return std::abs(number - factor) <= rounding * factor ||
         std::abs(number - scaled) <= rounding * scaled;
}

// Whether the tensor is computed with the cubic factor by operators that a polynomial consists of.
bool has_cubic_factor(const GraphIndex& graph, const std::string& tensor, int most_nodes) {
  if (const auto number = graph.number(tensor)) return is_cubic_factor(*number);
  const NodeProto* node = tensor.empty() ? nullptr : graph.producer(tensor);
  if (!node || most_nodes == 0 || !is_one_of(*node, {"Mul", "Add", "Cast", "Sum"})) return false;
  return std::ranges::any_of(node->input(), [&](const std::string& input) {
    return has_cubic_factor(graph, input, most_nodes - 1);
  });
}

std::optional<GeluForm> form_of(const NodeProto& node, const GraphIndex& graph) {
  constexpr int most_nodes = 6;  // between the Tanh and the factor
  if (is_op_or_contrib(node, "Gelu"))
    return attribute_string(node, "approximate") == "tanh" ? GeluForm::tanh : GeluForm::exact;
  if (is_one_of(node, {"BiasGelu", "BiasSplitGelu"}) || is_op(node, "Erf")) return GeluForm::exact;
  if (is_one_of(node, {"FastGelu", "GemmFastGelu"})) return GeluForm::tanh;
  if (is_op(node, "Tanh") && has_cubic_factor(graph, node.input(0), most_nodes))
    return GeluForm::tanh;
  return std::nullopt;
}

}  // namespace

std::string gelu_form_name(GeluForm form) { return form == GeluForm::tanh ? "tanh" : "none"; }

std::vector<FoundGelu> find_gelus(const GraphIndex& graph) {
  std::vector<FoundGelu> found;
  for (const NodeProto& node : graph.graph().node())
    if (const auto form = form_of(node, graph)) found.push_back({&node, *form});
  return found;
}

const NodeProto* find_other_gelu(std::ptrdiff_t exact, std::ptrdiff_t tanh,
                                 const GraphIndex& graph) {
  const std::vector<FoundGelu> found = find_gelus(graph);
  const auto found_tanh = std::ranges::count(found, GeluForm::tanh, &FoundGelu::form);
  const auto found_exact = std::ssize(found) - found_tanh;
  if (!(found_exact < exact && found_tanh > tanh) && !(found_tanh < tanh && found_exact > exact))
    return nullptr;
  const GeluForm other = found_tanh > tanh ? GeluForm::tanh : GeluForm::exact;
  return std::ranges::find(found, other, &FoundGelu::form)->node;
}

}  // namespace vernier
