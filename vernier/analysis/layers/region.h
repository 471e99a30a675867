#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vernier/model/index.h"
#include "vernier/model/model.h"

namespace vernier {

// The part of a graph that computes one tensor from the known ones before it.
struct Region {
  std::vector<const vernier_onnx::NodeProto*> nodes;  // from the tensor backwards
  std::vector<std::string> sources;  // the known tensors and graph inputs it starts from
};

// Walks back from the tensor to tensors that `is_known` accepts, inputs and weights. The tensor
// itself is not taken as known. Empty for what no node of the graph writes.
Region region_of(const GraphIndex& graph, const std::string& tensor,
                 const std::function<bool(const std::string&)>& is_known);

// The region of a tensor, by the name that a probe gives it, inside the graph that computes it.
Region region_of(const ModelIndex& model, const std::string& label,
                 const std::function<bool(const std::string&)>& is_known);

}  // namespace vernier
