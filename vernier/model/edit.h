#pragma once

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "vernier/model/graph.h"
#include "vernier/model/model.h"

namespace vernier {

// TensorLabels, with "#2", "#3"... appended to labels that would otherwise repeat.
class UniqueLabels {
 public:
  explicit UniqueLabels(const GraphProto& graph) : labels_(graph) {}
  std::string label(const std::string& path, const std::string& tensor);

 private:
  TensorLabels labels_;
  std::unordered_set<std::string> used_;
};

// The labels of all node outputs, in the main graph and in subgraphs, made unique by UniqueLabels.
std::vector<std::string> tensor_names(const Model& model);

// Adds tensors of the main graph to the model's outputs. Throws Error for unknown names.
void expose_outputs(Model& model, std::span<const std::string> tensors);

// The part of the main graph that computes `outputs` from `inputs`, as a separate model. Throws
// Error if the outputs depend on a tensor that is neither computed from `inputs` nor a weight.
Model extract_subgraph(const Model& model, std::span<const TensorSpec> inputs,
                       std::span<const std::string> outputs);

}  // namespace vernier
