#include <vernier_onnx.pb.h>

#include <algorithm>

#include "vernier/analysis/debug/diagnose.h"

namespace vernier {
namespace {

// The name of the operand's initializer, which may be transposed or cast before it is read.
std::string stored_name(const GraphIndex& graph, const std::string& operand) {
  const WeightSource source = graph.weight_source(operand);
  return source ? source.stored->name() : operand;
}

}  // namespace

std::vector<ProjectionRow> projection_rows(const ModelIndex& float_model,
                                           const DebugResult& result) {
  std::vector<ProjectionRow> rows;
  for (PlacedProjection& placed : find_projections(float_model)) {
    ProjectionRow row{.projection = std::move(placed)};
    const PlacedProjection& at = row.projection;
    const auto activation = std::ranges::find_if(result.activations, [&](const auto& each) {
      return (each.counterpart ? each.counterpart.tensor : each.tensor_name) == at.tensor;
    });
    if (activation != result.activations.end()) {
      row.cumulative_sqnr_db = activation->cumulative_sqnr_db;
      row.introduced_sqnr_db = activation->introduced_sqnr_db;
    }
    const std::string stored =
        at.weight.empty() ? std::string() : stored_name(float_model.main(), at.weight);
    const auto weight = std::ranges::find_if(result.weights, [&](const DebugWeight& each) {
      return !stored.empty() && each.counterpart && each.counterpart.tensor == stored;
    });
    if (weight != result.weights.end()) row.weight_sqnr_db = weight->weight_sqnr_db;
    if (result.sensitivity) {
      const auto& nodes = result.sensitivity->nodes;
      const auto node = std::ranges::find(nodes, at.node, &NodeSensitivity::node);
      if (node != nodes.end()) {
        row.kl_alone = node->kl_alone;
        row.kl_without = node->kl_without;
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace vernier
