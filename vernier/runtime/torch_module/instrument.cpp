#include "vernier/runtime/torch_module/instrument.h"

#include <c10/util/StringUtil.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/inline_fork_wait.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/script.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "vernier/runtime/torch_module/observe.h"
#include "vernier/runtime/torch_module/walk.h"

namespace vernier {
namespace {

using namespace torch::jit;

struct Located {
  std::string path;
  Module module;
};

bool has_children(const Module& module) {
  const auto children = module.children();
  return children.begin() != children.end();
}

// Tracing saves the second call of a module as the method "forward1", and so on.
bool is_forward(std::string_view method) {
  constexpr std::string_view forward = "forward";
  return method.starts_with(forward) &&
         method.find_first_not_of("0123456789", forward.size()) == std::string_view::npos;
}

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

// Whether the type is a tensor, or a tuple, list, dictionary or optional that contains tensors.
bool holds_tensors(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::TensorType) return true;
  const auto contained = type->containedTypes();
  return std::any_of(contained.begin(), contained.end(), holds_tensors);
}

std::string why_not_captured(const c10::TypePtr& type) {
  if (holds_tensors(type)) return "";
  // A traced Identity returns None: tracing connects its input directly to its readers.
  if (type->kind() == c10::TypeKind::NoneType) return "it passes its input on unchanged";
  return "returns no tensor but " + type->annotation_str();
}

// Whether a traced value is an input of the leaf under another name: a no-op, such as a cast to the
// same dtype, returns its input.
bool is_passed_on(const Value* value) {
  const Node* node = value->node();
  while (node->kind() == aten::to || node->kind() == aten::contiguous)
    node = node->input(0)->node();
  return node->kind() == prim::Param;
}

// The index of the one computed element if the leaf returns a tuple in which tracing added the
// leaf's inputs; nullopt otherwise.
std::optional<std::size_t> computed_element(const Graph& leaf) {
  const Node* tuple = leaf.outputs().at(0)->node();
  if (tuple->kind() != prim::TupleConstruct) return std::nullopt;
  std::vector<std::size_t> computed;
  for (std::size_t i = 0; i < tuple->inputs().size(); ++i)
    if (!is_passed_on(tuple->input(i))) computed.push_back(i);
  if (computed.size() != 1 || tuple->inputs().size() == 1) return std::nullopt;
  return computed[0];
}

// 1 if the leaf computes GELU by tanh, 0 if by erf; nullopt if it computes none.
std::optional<double> approximation(const Graph& graph, const std::string& type) {
  for (const Node* node : graph.nodes())
    if (node->kind() == aten::gelu) {
      if (node->inputs().size() < 2) return 0;
      const auto form = toIValue(node->input(1));
      return form && form->isString() && form->toStringRef() == "tanh" ? 1 : 0;
    }
  if (type.find("GELU") == std::string::npos) return std::nullopt;
  for (const Node* node : graph.nodes())  // written out, as in transformers
    if (node->kind() == aten::tanh || node->kind() == aten::erf)
      return node->kind() == aten::tanh ? 1 : 0;
  return std::nullopt;
}

std::map<std::string, double> number_arguments(const Graph& graph, const std::string& type) {
  std::map<std::string, double> numbers;
  if (const auto form = approximation(graph, type)) numbers.emplace("approximate", *form);
  for (const Node* node : graph.nodes()) {
    const auto* schema = node->maybeSchema();
    if (!schema || !node->kind().is_aten()) continue;
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      const auto value = toIValue(node->input(i));
      if (value && (value->isScalar() || value->isBool()))
        numbers.emplace(schema->arguments()[i].name(),
                        value->isBool() ? value->toBool() : value->toScalar().toDouble());
    }
  }
  return numbers;
}

// "[2,2]", "bilinear", "1" for true; empty for tensors and what is computed.
std::string setting_text(const Value* value) {
  if (const auto constant = toIValue(value)) {
    if (constant->isString()) return constant->toStringRef();
    if (constant->isBool()) return constant->toBool() ? "1" : "0";
    if (constant->isInt()) return std::to_string(constant->toInt());
    return constant->isIntList() ? "[" + c10::Join(",", constant->toIntVector()) + "]" : "";
  }
  if (value->node()->kind() != prim::ListConstruct) return "";
  std::vector<std::int64_t> items;
  for (const Value* item : value->node()->inputs()) {
    const auto constant = toIValue(item);
    if (!constant || !constant->isInt()) return "";
    items.push_back(constant->toInt());
  }
  return "[" + c10::Join(",", items) + "]";
}

// The settings of the leaf's operators, and their names as "operators".
std::map<std::string, std::string> setting_arguments(const Graph& graph) {
  std::map<std::string, std::string> settings;
  std::vector<std::string> operators;
  for (const Node* node : graph.nodes()) {
    const auto* schema = node->maybeSchema();
    if (!schema || !node->kind().is_aten()) continue;
    operators.emplace_back(node->kind().toUnqualString());
    for (std::size_t i = 0; i < node->inputs().size(); ++i)
      if (std::string text = setting_text(node->input(i)); !text.empty())
        settings.emplace(schema->arguments()[i].name(), std::move(text));
  }
  settings["operators"] = c10::Join(" ", operators);
  return settings;
}

std::set<std::string> module_paths(const Module& root) {
  std::set<std::string> paths;
  for (const auto& [path, module] : root.named_modules()) paths.insert(path);
  return paths;
}

bool is_only_waited_for(const Value& future) {
  return std::ranges::all_of(future.uses(),
                             [](const Use& use) { return use.user->kind() == aten::wait; });
}

bool has_forks(Graph& graph) {
  bool found = false;
  for_each_node(graph, [&](const Node* node) { found |= node->kind() == prim::fork; });
  return found;
}

// A copy in which forked tasks are inlined, so that their leaves are observed. Forks remain if a
// future is used other than by wait().
std::shared_ptr<Graph> without_forks(Graph& graph) {
  bool possible = true;
  for_each_node(graph, [&](Node* node) {
    if (node->kind() == prim::fork && !is_only_waited_for(*node->output())) possible = false;
  });
  auto copy = graph.copy();
  if (possible) InlineForkWait(copy);
  return copy;
}

class Instrumenter {
 public:
  Instrumenter(const Module& root, bool watch_leaves)
      : watch_leaves_(watch_leaves),
        graph_(without_forks(*forward_graph(root))),
        names_(module_paths(root)) {
    located_.emplace(graph_->inputs().at(0), Located{"", root});
    run_ = graph_->addInput("run");
    run_->setType(c10::AnyType::get());
    visit(graph_->block(), false);
    Inline(*graph_);
    report_uncalled(root);
  }

  InstrumentedGraph result() && {
    names_.restart();
    if (!watch_leaves_) watched_.clear(), unwatched_.clear();
    return {std::move(graph_), std::move(watched_), std::move(unwatched_), std::move(leaf_modules_),
            std::move(names_)};
  }

 private:
  static std::shared_ptr<Graph> forward_graph(const Module& module) {
    return toGraphFunction(module.get_method("forward").function()).graph();
  }

  void visit(Block* block, bool in_control_flow) {
    Node* node = block->param_node()->next();
    while (node != block->return_node()) {
      Node* previous = node->prev();
      const bool inlined = visit(node, in_control_flow);
      node = inlined ? previous->next() : node->next();
    }
  }

  // Returns true if the node was replaced by the graph of the method that it calls.
  bool visit(Node* node, bool in_control_flow) {
    for (Block* block : node->blocks()) visit(block, true);
    if (node->kind() == prim::GetAttr) locate(node);
    if (node->kind() == prim::CallMethod) return visit_call(node, in_control_flow);
    return false;
  }

  void locate(Node* node) {
    const auto parent = located_.find(node->input());
    if (parent == located_.end()) return;
    const std::string& name = node->s(attr::name);
    const c10::IValue value = parent->second.module.attr(name);
    if (!value.isModule()) return;
    // Methods of an interface type cannot be inlined; those of the module that implements it can.
    node->output()->setType(value.type());
    located_.emplace(node->output(), Located{joined(parent->second.path, name), value.toModule()});
  }

  bool visit_call(Node* node, bool in_control_flow) {
    const auto found = located_.find(node->input(0));
    if (found == located_.end()) return false;  // a method of a TorchScript class, not of a module
    const Located callee = found->second;
    const std::string& method = node->s(attr::name);
    if (!is_forward(method) || has_children(callee.module)) {
      auto& function = toGraphFunction(callee.module.get_method(method).function());
      inlineCallTo(node, &function, without_forks(*function.graph()).get());
      return true;
    }
    observe(node, callee, in_control_flow);
    return false;
  }

  void observe(Node* call, const Located& callee, bool in_control_flow) {
    const std::string name = names_.next(callee.path), type = callee.module.type()->name()->name();
    const std::string obstacle = why_not_captured(call->output()->type());
    if (!obstacle.empty()) unwatched_.push_back({name, obstacle, type});
    if (obstacle.empty()) {
      const torch::jit::Method called = callee.module.get_method(call->s(attr::name));
      const auto& method = called.function();
      if (watch_leaves_) insert_observe(call, *toGraphFunction(method).graph());
      const auto graph = forward_graph(callee.module);
      watched_.push_back({.name = name,
                          .type = type,
                          .constants = number_arguments(*graph, type),
                          .settings = setting_arguments(*graph),
                          .in_control_flow = in_control_flow});
    }
    leaf_modules_.push_back(callee.path);
  }

  void insert_observe(Node* call, const Graph& callee) {
    WithInsertPoint guard(call->next());
    Value* value = call->output();
    if (const auto element = computed_element(callee)) {
      Value* index = graph_->insertConstant(static_cast<std::int64_t>(*element));
      const auto type = value->type()->containedTypes().at(*element);
      value = graph_->insertNode(graph_->createTupleIndex(value, index, type))->output();
    }
    Value* leaf = graph_->insertConstant(static_cast<std::int64_t>(leaf_modules_.size()));
    graph_->insertNode(graph_->create(observe_symbol(), {run_, value, leaf}, 0));
  }

  void report_uncalled(const Module& root) {
    const std::set<std::string> called(leaf_modules_.begin(), leaf_modules_.end());
    const std::string reason = has_forks(*graph_) ? "never called, or only in a task of its own"
                                                  : "never called under this name";
    for (const auto& [path, module] : root.named_modules())
      if (!has_children(module) && !path.empty() && !called.contains(path))
        unwatched_.push_back({path, reason, module.type()->name()->name()});
  }

  bool watch_leaves_;
  std::shared_ptr<Graph> graph_;
  Value* run_ = nullptr;
  std::unordered_map<const Value*, Located> located_;
  CallNames names_;
  std::vector<WatchedTensor> watched_;
  std::vector<UnwatchedTensor> unwatched_;
  std::vector<std::string> leaf_modules_;
};

}  // namespace

InstrumentedGraph instrument(const Module& module, bool watch_leaves) {
  return Instrumenter(module, watch_leaves).result();
}

}  // namespace vernier
