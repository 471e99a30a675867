#include "vernier/runtime/torch_module/state.h"

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/script.h>

#include <set>
#include <string>
#include <vector>

#include "vernier/runtime/torch_module/observe.h"
#include "vernier/runtime/torch_module/walk.h"

namespace vernier {
namespace {

using namespace torch::jit;

// The observe operator is declared as writing, so that nothing moves across it, but writes nothing.
std::shared_ptr<Graph> without_observations(Graph& graph) {
  const auto bare = graph.copy();
  std::vector<Node*> observations;
  for_each_node(*bare, [&](Node* node) {
    if (node->kind() == observe_symbol()) observations.push_back(node);
  });
  for (Node* node : observations) node->destroy();
  return bare;
}

// Attributes are matched by name only: the module that owns one may be chosen at run time.
std::set<std::string> changed_attributes(const std::shared_ptr<Graph>& graph) {
  const AliasDb aliases(graph);
  std::set<std::string> names;
  for_each_node(*graph, [&](Node* node) {
    if (node->kind() == prim::SetAttr ||
        (node->kind() == prim::GetAttr && aliases.hasWriters(node->output())))
      names.insert(node->s(attr::name));
  });
  return names;
}

}  // namespace

struct ModuleState::Saved {
  struct Attribute {
    Module module;
    std::string name;
    c10::IValue value;
  };
  std::vector<Attribute> attributes;
};

ModuleState::ModuleState(const Module& module, Graph& graph) : saved_(std::make_unique<Saved>()) {
  const std::set<std::string> changed = changed_attributes(without_observations(graph));
  if (changed.empty()) return;
  for (const Module& owner : module.modules())
    for (const auto& [name, value] : owner.named_attributes(/*recurse=*/false)) {
      const auto slot = owner.type()->getAttributeSlot(name);
      if (changed.contains(name) && !owner.type()->is_parameter(slot) && !value.isModule())
        saved_->attributes.push_back({owner, name, value.deepcopy()});
    }
}

ModuleState::~ModuleState() = default;

void ModuleState::restore() const {
  for (auto& [module, name, value] : saved_->attributes) module.setattr(name, value.deepcopy());
}

}  // namespace vernier
