#include "vernier/runtime/torch_module/training_mode.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/script.h>

#include "vernier/runtime/torch_module/walk.h"

namespace vernier {
namespace {

bool is_training(const torch::jit::Node* node) {
  const auto* schema = node->maybeSchema();
  for (std::size_t i = 0; schema && i < schema->arguments().size(); ++i) {
    const std::string& name = schema->arguments()[i].name();
    if (name != "train" && name != "training") continue;
    const auto value = torch::jit::toIValue(node->input(i));
    if (value && value->isBool() && value->toBool()) return true;
  }
  return false;
}

}  // namespace

int training_mode_operators(torch::jit::Graph& graph) {
  int count = 0;
  for_each_node(graph, [&](const torch::jit::Node* node) { count += is_training(node); });
  return count;
}

}  // namespace vernier
