#include "vernier/runtime/torch_module/observe.h"

#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/script.h>

#include "vernier/runtime/torch_module/values.h"

namespace vernier {
namespace {

struct RunHolder : torch::CustomClassHolder {
  explicit RunHolder(Run& held) : run(held) {}
  Run& run;
};

std::string join_with_dot(const std::string& container, const std::string& key) {
  return container + "." + key;
}

void observe(Run& run, const c10::IValue& value, std::size_t leaf) {
  run.last_leaf = run.names.next(run.leaf_modules[leaf]);
  if (!run.observer) return;
  try {
    for_each_tensor(value, run.last_leaf, join_with_dot,
                    [&](const std::string& name, const at::Tensor& tensor) {
                      with_view(tensor, name,
                                [&](const TensorView& view) { run.observer({view}); });
                    });
  } catch (...) {
    // Saved, because the interpreter replaces the exception by its own.
    run.thrown_by_observer = std::current_exception();
    throw;
  }
}

void observe_operator(torch::jit::Stack& stack) {
  const auto leaf = static_cast<std::size_t>(torch::jit::pop(stack).toInt());
  const c10::IValue value = torch::jit::pop(stack);
  const auto holder = torch::jit::pop(stack).toCapsule();
  observe(static_cast<RunHolder&>(*holder).run, value, leaf);
}

// CONSERVATIVE: the operator is never removed, and never moved across an operator that writes.
const torch::jit::RegisterOperators registration(
    {torch::jit::Operator("vernier::observe(Any run, Any value, int leaf) -> ()", observe_operator,
                          c10::AliasAnalysisKind::CONSERVATIVE)});

}  // namespace

c10::Symbol observe_symbol() { return c10::Symbol::fromQualString("vernier::observe"); }

c10::IValue to_value(Run& run) {
  return c10::IValue::make_capsule(c10::make_intrusive<RunHolder>(run));
}

}  // namespace vernier
