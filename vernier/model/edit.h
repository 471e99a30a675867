#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// The name that a probe gives a tensor: its own where it is the only one of that name in the model,
// or in the main graph; else with the path of the subgraph in front.
class TensorLabels {
 public:
  explicit TensorLabels(const vernier_onnx::GraphProto& graph);
  std::string operator()(const std::string& path, const std::string& tensor) const;

 private:
  std::unordered_map<std::string, int> definitions_;
};

// The same, with a number behind labels that would otherwise be given twice.
class UniqueLabels {
 public:
  explicit UniqueLabels(const vernier_onnx::GraphProto& graph) : labels_(graph) {}
  std::string label(const std::string& path, const std::string& tensor);

 private:
  TensorLabels labels_;
  std::unordered_set<std::string> used_;
};

// Tensors that nodes write, in the main graph and inside subgraphs, by the names that probes give
// them: the plain name where it is the only one, else "loop_1.body/name".
std::vector<std::string> tensor_names(const Model& model);

// Makes tensors of the main graph outputs of the model. Throws Error for unknown names.
void expose_outputs(Model& model, std::span<const std::string> tensors);

// The spec of an input that takes tensors like this one.
TensorSpec spec_of(const TensorView& tensor);

// The part of the main graph that computes `outputs` from `inputs`, as a model of its own. Throws
// Error when the outputs need something that is neither among the inputs nor a weight.
Model extract_subgraph(const Model& model, std::span<const TensorSpec> inputs,
                       std::span<const std::string> outputs);

}  // namespace vernier
