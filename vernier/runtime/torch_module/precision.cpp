#include "vernier/runtime/torch_module/precision.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/script.h>

#include "vernier/runtime/torch_module/walk.h"

namespace vernier {
namespace {

using torch::jit::Node;
using torch::jit::Value;

bool widens(const at::Tensor& tensor, at::ScalarType target) {
  return tensor.defined() && tensor.is_floating_point() &&
         at::elementSize(tensor.scalar_type()) < at::elementSize(target);
}

void widen_constant(Node* node) {
  if (!node->hasAttribute(torch::jit::attr::value) ||
      node->kindOf(torch::jit::attr::value) != torch::jit::AttributeKind::t)
    return;
  const at::Tensor constant = node->t(torch::jit::attr::value);
  if (widens(constant, at::kDouble)) node->t_(torch::jit::attr::value, constant.to(at::kDouble));
}

bool names_narrow_float(const Value* value) {
  const auto constant = torch::jit::toIValue(value);
  if (!constant || !constant->isInt()) return false;
  const auto type = static_cast<at::ScalarType>(constant->toInt());
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

void widen_dtype_arguments(Node* node) {
  const auto* schema = node->maybeSchema();
  if (!schema) return;
  for (std::size_t i = 0; i < schema->arguments().size(); ++i) {
    if (schema->arguments()[i].name() != "dtype" || !names_narrow_float(node->input(i))) continue;
    torch::jit::WithInsertPoint guard(node);
    node->replaceInput(i,
                       node->owningGraph()->insertConstant(static_cast<std::int64_t>(at::kDouble)));
  }
}

}  // namespace

void set_precision(torch::jit::Module& module, DType precision) {
  const at::ScalarType target = precision == DType::f64 ? at::kDouble : at::kFloat;
  for (const auto& [name, value] : module.named_attributes())
    if (value.isTensor() && widens(value.toTensor(), target))
      value.toTensor().set_data(value.toTensor().detach().to(target));
}

void set_precision(torch::jit::Graph& graph, DType precision) {
  if (precision != DType::f64) return;
  for_each_node(graph, [](Node* node) {
    if (node->kind() == torch::jit::prim::Constant) widen_constant(node);
    widen_dtype_arguments(node);
  });
}

}  // namespace vernier
