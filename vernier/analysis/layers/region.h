#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vernier/model/graph.h"
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

// Who writes what in all graphs of a model, by the names that probes give tensors. The model must
// outlive it and stay unchanged.
class ModelIndex {
 public:
  explicit ModelIndex(const Model& model);

  const GraphIndex& main() const { return graphs_.front(); }
  // The region of a tensor, inside the graph that computes it.
  Region region_of(const std::string& label,
                   const std::function<bool(const std::string&)>& is_known) const;

 private:
  struct Place {
    const GraphIndex* graph = nullptr;
    std::string tensor;
  };
  std::deque<GraphIndex> graphs_;
  std::unordered_map<std::string, Place> places_;
};

}  // namespace vernier
