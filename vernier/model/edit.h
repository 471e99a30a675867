#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// The label that a probe gives a tensor: its plain name if it is in the main graph or the name is
// unique in the model, else prefixed with the path of its subgraph ("loop_1.body/name").
class TensorLabels {
 public:
  explicit TensorLabels(const vernier_onnx::GraphProto& graph);
  std::string operator()(const std::string& path, const std::string& tensor) const;

 private:
  std::unordered_map<std::string, int> definitions_;
};

// TensorLabels, with "#2", "#3"... appended to labels that would otherwise repeat.
class UniqueLabels {
 public:
  explicit UniqueLabels(const vernier_onnx::GraphProto& graph) : labels_(graph) {}
  std::string label(const std::string& path, const std::string& tensor);

 private:
  TensorLabels labels_;
  std::unordered_set<std::string> used_;
};

// The labels of all node outputs, in the main graph and in subgraphs, made unique by UniqueLabels.
std::vector<std::string> tensor_names(const Model& model);

// Adds tensors of the main graph to the model's outputs. Throws Error for unknown names.
void expose_outputs(Model& model, std::span<const std::string> tensors);

// The spec of an input with this tensor's name, dtype and shape.
TensorSpec spec_of(const TensorView& tensor);

// The part of the main graph that computes `outputs` from `inputs`, as a separate model. Throws
// Error if the outputs depend on a tensor that is neither computed from `inputs` nor a weight.
Model extract_subgraph(const Model& model, std::span<const TensorSpec> inputs,
                       std::span<const std::string> outputs);

}  // namespace vernier
