#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/layers/graph.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// "[1,1]", "0.5", "same"; "a value that is not shown" for tensors, graphs and other lists.
std::string attribute_text(const AttributeProto& attribute);

// An attribute or constant that differs in the candidate, and a function that sets it to the
// reference's value.
struct OtherAttribute {
  LayerEvidence evidence;
  std::function<void(Model& candidate)> correct;
};

// The node that writes the tensor, in the graph or a subgraph; null if none does.
NodeProto* find_writer(GraphProto& graph, const std::string& tensor);

// Sets the attribute of the node that writes the tensor; nullopt removes it.
void set_attribute(Model& model, const std::string& tensor, const std::string& name,
                   const std::optional<AttributeProto>& value);

// Attributes and scalar constants that differ between regions with the same operators.
std::vector<OtherAttribute> differing_attributes(const Region& reference, const Region& candidate);

// An epsilon, slope, bound or form of GELU that differs from the PyTorch module's, and a
// LayerNormalization axis that does not fit the number of axes of its scale.
std::vector<OtherAttribute> differing_constants(const Region& region, const WatchedTensor& leaf);

}  // namespace vernier
