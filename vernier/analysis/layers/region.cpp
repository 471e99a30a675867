#include "vernier/analysis/layers/region.h"

#include <vernier_onnx.pb.h>

#include <unordered_set>

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

Region region_of(const ModelIndex& model, const std::string& label,
                 const std::function<bool(const std::string&)>& is_known) {
  const FoundTensor* found = model.tensor(label);
  return found ? region_of(*found->graph, found->name(), is_known) : Region{};
}

}  // namespace vernier
