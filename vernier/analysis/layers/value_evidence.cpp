#include "vernier/analysis/layers/value_evidence.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>

#include "vernier/analysis/layers/operator_evidence.h"
#include "vernier/model/onnx_type.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;

bool is_below_float32(DType dtype) { return is_float(dtype) && bits(dtype) < 32; }

// The name of the first tensor below float32 that the node writes or reads.
std::string narrow_tensor(const NodeProto& node, const DTypes& dtypes) {
  const auto is_narrow = [&](const std::string& name) {
    const auto found = dtypes.find(name);
    return found != dtypes.end() && is_below_float32(found->second);
  };
  for (const auto* names : {&node.output(), &node.input()})
    if (const auto found = std::ranges::find_if(*names, is_narrow); found != names->end())
      return fmt::format("{} of {} is {}", *found, node_label(node), dtype_name(dtypes.at(*found)));
  return "";
}

bool has_nonfinite(const TensorView& tensor) {
  return is_float(tensor.dtype) &&
         std::ranges::any_of(to_f64(tensor), [](double value) { return !std::isfinite(value); });
}

}  // namespace

std::set<std::string> names_read(const Region& region, const StoredWeights& weights) {
  std::set<std::string> names;
  for (const NodeProto* node : region.nodes)
    for (std::string& name : weights.names_read_by(*node)) names.insert(std::move(name));
  return names;
}

std::string differing_weight(const Region& region, const StoredWeights& weights,
                             std::span<const ComparedWeight> compared, const std::string& layer) {
  const std::set<std::string> names = names_read(region, weights);
  for (const ComparedWeight& weight : compared) {
    const bool differs =
        weight.match == WeightMatch::differs || weight.match == WeightMatch::unlike;
    if (differs && (weight.module == layer || names.contains(weight.initializer)))
      return describe_difference(weight);
  }
  return "";
}

std::string low_precision(const Region& region, const DTypes& dtypes) {
  for (const NodeProto* node : region.nodes) {
    std::string narrow = narrow_tensor(*node, dtypes);
    if (!narrow.empty()) return narrow;
    if (is_quantized(*node))
      return fmt::format("{} {} is quantized", node->op_type(), node_label(*node));
  }
  return "";
}

std::string nonfinite_constant(const Region& region, const StoredWeights& weights) {
  for (const std::string& name : names_read(region, weights)) {
    const auto* stored = weights.find(name);
    if (stored && dtype_of_onnx(stored->data_type()) && has_nonfinite(weights.read(*stored)))
      return fmt::format("constant {} is not finite", name);
  }
  return "";
}

}  // namespace vernier
