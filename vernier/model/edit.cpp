#include "vernier/model/edit.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include "vernier/error.h"
#include "vernier/model/graph.h"
#include "vernier/model/index.h"

namespace vernier {

using vernier_onnx::GraphProto;
using vernier_onnx::NodeProto;

TensorLabels::TensorLabels(const GraphProto& graph) {
  for (const Subgraph& subgraph : all_subgraphs(graph))
    for (const NodeProto& node : subgraph.graph->node())
      for (const auto& output : node.output()) ++definitions_[output];
}

std::string TensorLabels::operator()(const std::string& path, const std::string& tensor) const {
  const auto found = definitions_.find(tensor);
  const bool unique = found == definitions_.end() || found->second == 1;
  return path.empty() || unique ? tensor : path + "/" + tensor;
}

std::string UniqueLabels::label(const std::string& path, const std::string& tensor) {
  const std::string stem = labels_(path, tensor);
  std::string label = stem;
  for (int i = 2; !used_.insert(label).second; ++i) label = fmt::format("{}#{}", stem, i);
  return label;
}

std::vector<std::string> tensor_names(const Model& model) {
  UniqueLabels labels(model.graph());
  std::vector<std::string> names;
  for (const Subgraph& subgraph : all_subgraphs(model.graph()))
    for (const NodeProto& node : subgraph.graph->node())
      for (const auto& output : node.output())
        if (!output.empty()) names.push_back(labels.label(subgraph.path, output));
  return names;
}

void expose_outputs(Model& model, std::span<const std::string> tensors) {
  const GraphIndex index(model.graph());
  std::vector<std::string> added;
  for (const auto& tensor : tensors) {
    if (!index.defines(tensor))
      throw Error(fmt::format("[model] {}: has no tensor '{}'", model.name(), tensor));
    if (!index.is_output(tensor)) added.push_back(tensor);
  }
  for (const auto& tensor : added) model.graph().add_output()->set_name(tensor);
}

}  // namespace vernier
