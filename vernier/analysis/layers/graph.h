#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "vernier/analysis/layers/layers.h"
#include "vernier/model/index.h"

namespace vernier {

// The part of a graph that computes one tensor from known tensors.
struct Region {
  const GraphIndex* graph = nullptr;
  std::vector<const NodeProto*> nodes;  // from the tensor backwards
  std::vector<std::string> sources;     // the known tensors and graph inputs that it reads
};

// Walks back from the tensor to tensors that `is_known` accepts, inputs and weights. The tensor
// itself does not count as known. Empty if no node of the graph writes it.
Region region_of(const GraphIndex& graph, const std::string& tensor,
                 const std::function<bool(const std::string&)>& is_known);

// The region of a tensor, by its probe name, inside the graph that computes it.
Region region_of(const ModelIndex& model, const std::string& label,
                 const std::function<bool(const std::string&)>& is_known);

// A weight as one node reads it.
struct WeightUse {
  const NodeProto* node = nullptr;
  std::string role;  // "weight", "bias", "running_mean", "running_var"; empty if unknown
  const TensorProto* stored = nullptr;
  bool transposed = false;  // read through a Transpose of its two axes
};

// Whether the node is a convolution or matrix product, also one that ONNX Runtime fused with a
// later operator.
bool is_product(const NodeProto& node);

// The weight behind a tensor of any graph, through Identity, Cast and Transpose; null if it is not
// a weight, or quantized.
const TensorProto* stored_weight(const ModelIndex& model, std::string_view tensor);

// The weights of a model as the nodes of each PyTorch module read them, in graph order. The index
// must outlive it.
class ModuleWeights {
 public:
  explicit ModuleWeights(const ModelIndex& index);

  const ModelIndex& index() const { return index_; }
  std::span<const WeightUse> uses_of(std::string_view module) const;
  // Assigns the uses of one module to another, which has none.
  void move_uses(const std::string& from, const std::string& to);

 private:
  const ModelIndex& index_;
  NameMap<std::vector<WeightUse>> uses_;
};

// The tensors that are computed only from constants and the shapes of other tensors.
std::unordered_set<std::string> tensors_from_shapes(const GraphIndex& graph);

// The weight's dimensions as stored.
Shape shape_of(const TensorProto& stored);

// The graph of the candidate, and the places of the rows in it. The index must outlive it.
class CandidateGraph {
 public:
  CandidateGraph(const ModelIndex& index, std::span<const LayerRow> rows);

  // The nodes that compute the tensor from the tensors of other rows.
  const Region& region(const std::string& tensor) const;
  // The rows of a tensor, in the reference's order: an elided layer shares another layer's tensor.
  const std::vector<std::size_t>& rows_of(const std::string& tensor) const;
  // The rows' tensors and the inputs that the tensor is computed from, nearest first.
  std::vector<std::string> ancestors(const std::string& tensor) const;
  bool is_unread(const std::string& tensor) const;

 private:
  const ModelIndex& index_;
  std::unordered_map<std::string, std::vector<std::size_t>> rows_of_;
  mutable std::unordered_map<std::string, Region> regions_;  // filled on demand
};

}  // namespace vernier
