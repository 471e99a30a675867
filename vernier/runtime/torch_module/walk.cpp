#include "vernier/runtime/torch_module/walk.h"

#include <torch/csrc/jit/ir/ir.h>

namespace vernier {
namespace {

using namespace torch::jit;

void visit_block(Block* block, const std::function<void(Node*)>& visit) {
  for (Node* node : block->nodes()) {
    visit(node);
    for (Block* subgraph : node->blocks()) visit_block(subgraph, visit);
    if (node->hasAttribute(attr::Subgraph)) visit_block(node->g(attr::Subgraph)->block(), visit);
  }
}

}  // namespace

void for_each_node(Graph& graph, const std::function<void(Node*)>& visit) {
  visit_block(graph.block(), visit);
}

}  // namespace vernier
