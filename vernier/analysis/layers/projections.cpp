#include "vernier/analysis/layers/projections.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

namespace vernier {
namespace {

using Rows = std::unordered_map<std::string, std::size_t>;

// Operators that pass on every element.
constexpr std::array<std::string_view, 9> carrying = {
    "Reshape",   "Transpose", "Cast",           "Identity",        "Squeeze",
    "Unsqueeze", "Flatten",   "QuantizeLinear", "DequantizeLinear"};

// Whether the node continues the projection: passes the product on, adds its bias, or multiplies an
// integer product by its scale.
bool completes(const GraphIndex& graph, const NodeProto& node, const std::string& product,
               bool is_integer_product) {
  if (is_one_of(node, carrying)) return true;
  if (is_op(node, "Mul")) return is_integer_product;
  if (!is_op(node, "Add")) return false;
  const std::string other = input_name(node, input_name(node, 0) == product ? 1 : 0);
  return graph.constant(other) || graph.weight_source(other);
}

std::optional<std::size_t> row_of(const ModelIndex& model, const std::string& label,
                                  const Rows& rows) {
  const FoundTensor* found = model.tensor(label);
  if (!found) return std::nullopt;
  const GraphIndex& graph = *found->graph;
  const bool is_integer_product = is_op(*found->node, "MatMulInteger");
  std::string tensor = found->name();
  std::optional<std::size_t> row;
  while (true) {
    if (const auto known = rows.find(graph.label(tensor)); known != rows.end()) row = known->second;
    const auto readers = graph.consumers(tensor);
    if (readers.size() != 1 || readers[0]->output_size() == 0 ||
        !completes(graph, *readers[0], tensor, is_integer_product))
      return row;
    if (row && !is_op(*readers[0], "Add")) return row;
    tensor = readers[0]->output(0);
  }
}

}  // namespace

std::vector<LayerProjection> place_projections(const ModelIndex& model,
                                               std::span<const LayerRow> rows,
                                               std::string LayerRow::*name) {
  Rows compared;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].compared) compared.emplace(rows[i].*name, i);
  std::vector<LayerProjection> found;
  for (PlacedProjection& each : find_projections(model))
    if (const auto row = row_of(model, each.tensor, compared))
      found.push_back({std::move(each), *row});
  return found;
}

}  // namespace vernier
