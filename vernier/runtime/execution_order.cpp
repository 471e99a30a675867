#include "vernier/runtime/execution_order.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "vernier/model/graph.h"

namespace vernier {

void compute_constants_late(Model& model) {
  auto& graph = model.graph();
  const std::unordered_set<std::string> constants = constant_tensors(graph);
  std::vector<NodeProto*> first, rest;
  for (NodeProto& node : *graph.mutable_node()) {
    const bool is_constant = std::ranges::all_of(
        node.output(), [&](const std::string& tensor) { return constants.contains(tensor); });
    (is_constant ? first : rest).push_back(&node);
  }
  if (first.empty()) return;
  google::protobuf::RepeatedPtrField<NodeProto> ordered;
  for (auto* nodes : {&first, &rest})
    for (NodeProto* node : *nodes) ordered.Add(std::move(*node));
  graph.mutable_node()->Swap(&ordered);
}

}  // namespace vernier
