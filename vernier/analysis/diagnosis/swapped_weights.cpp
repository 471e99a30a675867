#include "vernier/analysis/diagnosis/swapped_weights.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <set>
#include <utility>

#include "vernier/analysis/layers/graph.h"
#include "vernier/model/graph.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

// The stored weights that a region reads.
std::set<std::string> weights_read(const Region& region) {
  std::set<std::string> names;
  for (const auto* node : region.nodes)
    for (const std::string& input : node->input())
      if (const WeightSource source = region.graph->weight_source(input); source)
        names.insert(source.stored->name());
  return names;
}

// The stored weights that the layer reads in each model.
struct Operands {
  std::set<std::string> reference, candidate;
};

Operands operands_of(const LayersResult& layers, const LayerRow& row, const ModelIndex& reference,
                     const ModelIndex& candidate) {
  std::set<std::string> names, tensors;
  for (const LayerRow& each : layers.rows) {
    names.insert(each.layer);
    if (!each.tensor.empty()) tensors.insert(each.tensor);
  }
  const auto among = [](const std::set<std::string>& known) {
    return [&known](const std::string& name) { return known.contains(name); };
  };
  return {weights_read(region_of(reference, row.layer, among(names))),
          weights_read(region_of(candidate, row.tensor, among(tensors)))};
}

// Moves the per-channel scales of a matrix to its other axis.
void swap_scale_axis(NodeProto& dequantize) {
  const bool is_last = attribute_int(dequantize, "axis", 1) % 2 != 0;  // 1 or -1
  auto& attributes = *dequantize.mutable_attribute();
  const auto set = std::ranges::find(attributes, "axis", &AttributeProto::name);
  AttributeProto& axis = set == attributes.end() ? *attributes.Add() : *set;
  axis.set_name("axis");
  axis.set_type(AttributeProto::INT);
  axis.set_i(is_last ? 0 : 1);
}

}  // namespace

std::optional<SwappedWeights> find_swapped_weights(const LayersResult& layers, const LayerRow& row,
                                                   const WeightEvidence& weights,
                                                   const ModelIndex* reference,
                                                   const ModelIndex& candidate) {
  Operands operands;
  if (reference)
    operands = operands_of(layers, row, *reference, candidate);
  else if (const auto& weight = row.evidence.weight)
    operands = {{weight->parameter}, {weight->initializer}};
  for (const PairedWeight& held : weights.weights) {
    if (!held.same || !operands.candidate.contains(held.candidate) ||
        operands.reference.contains(held.reference))
      continue;
    for (const std::string& expected : operands.reference) {
      const auto other = std::ranges::find(weights.weights, expected, &PairedWeight::reference);
      const bool is_elsewhere = other != weights.weights.end() && other->same &&
                                !operands.candidate.contains(other->candidate);
      if (!is_elsewhere || other->elements != held.elements) continue;
      return SwappedWeights{.candidate = held.candidate,
                            .expected = expected,
                            .found = held.reference,
                            .other = other->candidate};
    }
  }
  return std::nullopt;
}

std::optional<SwappedWeights> find_swapped_names(const WeightEvidence& weights) {
  for (const PairedWeight& one : weights.weights)
    for (const PairedWeight& other : weights.weights) {
      const bool swapped = one.same && other.same && one.reference != other.reference &&
                           one.candidate.starts_with(other.reference) &&
                           other.candidate.starts_with(one.reference) &&
                           !one.candidate.starts_with(one.reference) &&
                           !other.candidate.starts_with(other.reference);
      if (swapped && !one.reference.empty() && !other.reference.empty())
        return SwappedWeights{.candidate = one.candidate,
                              .expected = other.reference,
                              .found = one.reference,
                              .other = other.candidate};
    }
  return std::nullopt;
}

Model with_swapped_weights(const Model& candidate, const SwappedWeights& swapped) {
  Model result = candidate.clone();
  for (auto& weight : *result.graph().mutable_initializer())
    if (weight.name() == swapped.candidate)
      weight.set_name(swapped.other);
    else if (weight.name() == swapped.other)
      weight.set_name(swapped.candidate);
  return result;
}

Model with_transposed_weights(const ModelIndex& candidate,
                              const std::vector<std::string>& weights) {
  Model result = candidate.model().clone();
  for (auto& weight : *result.graph().mutable_initializer()) {
    if (std::ranges::find(weights, weight.name()) == weights.end()) continue;
    const Tensor transposed = permute_axes(result.view(weight), std::vector{1, 0});
    weight = make_tensor_proto(transposed);
  }
  for (auto& node : *result.graph().mutable_node()) {
    const bool reads =
        node.input_size() > 0 && std::ranges::find(weights, node.input(0)) != weights.end();
    if (!reads || !is_op(node, "DequantizeLinear")) continue;
    const auto scales = candidate.main().numbers(node.input(1));
    if (scales && scales->size() > 1) swap_scale_axis(node);
  }
  return result;
}

}  // namespace vernier
