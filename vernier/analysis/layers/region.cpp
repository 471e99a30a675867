#include "vernier/analysis/layers/region.h"

#include <vernier_onnx.pb.h>

#include <unordered_set>

#include "vernier/model/edit.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;

std::vector<std::string> read_by(const NodeProto& node) {
  std::vector<std::string> names(node.input().begin(), node.input().end());
  const std::vector<std::string> captured = captured_names(node);
  names.insert(names.end(), captured.begin(), captured.end());
  return names;
}

}  // namespace

Region region_of(const GraphIndex& graph, const std::string& tensor,
                 const std::function<bool(const std::string&)>& is_known) {
  Region region;
  std::unordered_set<const NodeProto*> visited;
  std::unordered_set<std::string> seen = {tensor};
  const auto visit = [&](const std::string& name) {
    const NodeProto* producer = graph.producer(name);
    if (producer && visited.insert(producer).second) region.nodes.push_back(producer);
  };
  visit(tensor);
  for (std::size_t i = 0; i < region.nodes.size(); ++i)
    for (const std::string& name : read_by(*region.nodes[i])) {
      if (name.empty() || !seen.insert(name).second) continue;
      if (is_known(name) || (!graph.producer(name) && !graph.initializer(name)))
        region.sources.push_back(name);
      else
        visit(name);
    }
  return region;
}

ModelIndex::ModelIndex(const Model& model) {
  const TensorLabels labels(model.graph());
  for (const Subgraph& subgraph : all_subgraphs(model.graph())) {
    const GraphIndex* outer = subgraph.outer < 0 ? nullptr : &graphs_[subgraph.outer];
    const GraphIndex& graph = graphs_.emplace_back(*subgraph.graph, outer);
    for (const NodeProto& node : subgraph.graph->node())
      for (const std::string& output : node.output())
        places_.emplace(labels(subgraph.path, output), Place{&graph, output});
  }
}

Region ModelIndex::region_of(const std::string& label,
                             const std::function<bool(const std::string&)>& is_known) const {
  const auto place = places_.find(label);
  if (place == places_.end()) return {};
  return vernier::region_of(*place->second.graph, place->second.tensor, is_known);
}

}  // namespace vernier
