#include "vernier/analysis/layers/weights.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>

#include "vernier/model/graph.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/scope.h"

namespace vernier {
namespace {

// Beyond this a distance in ulps tells no more than the difference itself.
constexpr double most_ulps = 1e6;

// The modules whose nodes an ONNX graph holds, in its order.
std::vector<WatchedTensor> modules_of(const Model& model) {
  std::vector<WatchedTensor> leaves;
  for (const Subgraph& subgraph : all_subgraphs(model.graph()))
    for (const auto& node : subgraph.graph->node()) {
      const std::string path = module_path(node);
      if (path.empty()) continue;
      WatchedTensor leaf{.name = path, .type = node.op_type()};
      if (is_op(node, "BatchNormalization"))
        leaf.constants["eps"] = attribute_float(node, "epsilon", 1e-5F);
      leaves.push_back(std::move(leaf));
    }
  return leaves;
}

}  // namespace

std::string_view weight_match_name(WeightMatch match) {
  switch (match) {
    case WeightMatch::exact: return "exact";
    case WeightMatch::transposed: return "transposed";
    case WeightMatch::folded: return "folded";
    case WeightMatch::rounded: return "rounded";
    case WeightMatch::differs: return "differs";
    case WeightMatch::unlike: return "unlike";
    case WeightMatch::not_found: return "not_found";
  }
  return "";
}

std::vector<ComparedWeight> compare_weights(const Runner& reference, const Model& candidate) {
  const auto visit = [&](const TensorVisitor& visitor) { reference.visit_parameters(visitor); };
  return compare_weights(visit, reference.watched(), candidate);
}

std::vector<ComparedWeight> compare_weights(const Model& reference, const Model& candidate) {
  const auto visit = [&](const TensorVisitor& visitor) {
    for (const Subgraph& subgraph : all_subgraphs(reference.graph()))
      for (const auto& weight : subgraph.graph->initializer())
        if (dtype_of_onnx(weight.data_type())) visitor(reference.tensor(weight));
  };
  return compare_weights(visit, modules_of(reference), candidate);
}

std::vector<ComparedWeight> weight_mismatches(std::span<const ComparedWeight> weights) {
  std::vector<ComparedWeight> result;
  std::ranges::copy_if(weights, std::back_inserter(result), [](const ComparedWeight& weight) {
    return weight.match == WeightMatch::differs;
  });
  return result;
}

std::string describe_difference(const ComparedWeight& weight) {
  const WeightDifference& difference = weight.difference;
  std::string text =
      fmt::format("{} is not what initializer {} holds", weight.parameter, weight.initializer);
  if (!weight.remark.empty()) text += fmt::format(" ({})", weight.remark);
  if (difference.first < 0) return text;
  text +=
      fmt::format(": {} of {} elements differ, the first at {}, by up to {:.3g}",
                  difference.differing, weight.elements, difference.first, difference.max_abs_diff);
  if (difference.max_ulp_diff && *difference.max_ulp_diff < most_ulps)
    text += fmt::format(" ({:.0f} ulp)", *difference.max_ulp_diff);
  return text;
}

}  // namespace vernier
