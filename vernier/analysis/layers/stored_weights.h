#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vernier/model/index.h"
#include "vernier/model/model.h"

namespace vernier {

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

}  // namespace vernier
