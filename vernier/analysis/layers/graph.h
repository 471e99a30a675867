#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vernier/analysis/layers/layers.h"
#include "vernier/model/dtypes.h"
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

// A weight as one node reads it.
struct WeightUse {
  const vernier_onnx::NodeProto* node = nullptr;
  std::string role;  // "weight", "bias", "running_mean", "running_var"; empty: unknown
  const vernier_onnx::TensorProto* stored = nullptr;
  bool transposed = false;  // through a Transpose of its two axes
};

// The weights of an ONNX model: initializers and constants, in the main graph and in subgraphs. The
// model must outlive it and stay unchanged.
class StoredWeights {
 public:
  explicit StoredWeights(const Model& model);

  // The weight that a tensor is, through Identity, Cast and Transpose; null if it is none.
  const vernier_onnx::TensorProto* find(const std::string& tensor) const;
  // The names of the weights that the node reads, as it reads them and as they are stored.
  std::vector<std::string> names_read_by(const vernier_onnx::NodeProto& node) const;
  // What the nodes of a PyTorch module read, in graph order.
  const std::vector<WeightUse>& uses_of(const std::string& module) const;
  // What is said to be of one module is of another, which has none.
  void move_uses(const std::string& from, const std::string& to);
  // A weight of this type, shape and content; null if there is none.
  const vernier_onnx::TensorProto* with_content(const TensorView& content) const;
  Tensor read(const vernier_onnx::TensorProto& stored) const { return model_.tensor(stored); }

 private:
  struct Resolved {
    const vernier_onnx::TensorProto* stored = nullptr;
    bool transposed = false;
  };
  Resolved resolve(const GraphIndex& index, const std::string& tensor, int depth = 0) const;
  void add_uses(const GraphIndex& index, const vernier_onnx::NodeProto& node);

  const Model& model_;
  std::deque<GraphIndex> indices_;  // of the main graph and its subgraphs
  std::unordered_map<std::string, std::vector<WeightUse>> uses_;
  mutable std::unordered_map<const vernier_onnx::TensorProto*, std::size_t> hashes_;
};

// The shape that the model states for the weight.
Shape shape_of(const vernier_onnx::TensorProto& stored);

// The graph of the candidate, and how the rows lie in it. The model must outlive it.
class CandidateGraph {
 public:
  CandidateGraph(const Model& model, std::span<const LayerRow> rows);

  // What computes the tensor from those of other rows.
  const Region& region(const std::string& tensor) const;
  // The rows of a tensor, in the order of the reference: an elided layer shares that of another.
  const std::vector<std::size_t>& rows_of(const std::string& tensor) const;
  // The tensors of rows, and the inputs, that the tensor is computed from, nearest first.
  std::vector<std::string> ancestors(const std::string& tensor) const;
  bool is_unread(const std::string& tensor) const;

  const StoredWeights& weights() const { return weights_; }
  const DTypes& dtypes() const { return dtypes_; }

 private:
  ModelIndex index_;
  StoredWeights weights_;
  DTypes dtypes_;
  std::unordered_map<std::string, std::vector<std::size_t>> rows_of_;
  mutable std::unordered_map<std::string, Region> regions_;  // as far as they were asked for
};

}  // namespace vernier
