#include "vernier/runtime/torch_module/signature.h"

#include <fmt/format.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/script.h>

#include "vernier/error.h"
#include "vernier/runtime/torch_module/values.h"

namespace vernier {
namespace {

using c10::TypeKind;
using torch::jit::Value;

template <typename T>
void append(std::vector<T>& list, std::vector<T> more) {
  std::move(more.begin(), more.end(), std::back_inserter(list));
}

c10::TypePtr without_optional(const c10::TypePtr& type) {
  return type->kind() == TypeKind::OptionalType
             ? type->expectRef<c10::OptionalType>().getElementType()
             : type;
}

std::vector<TensorSpec> specs_of(const std::string& name, const c10::TypePtr& type,
                                 const std::string& subject) {
  const c10::TypePtr held = without_optional(type);
  switch (held->kind()) {
    case TypeKind::TensorType: return {{.name = name, .ranked = false}};
    case TypeKind::IntType: return {{.name = name, .dtype = DType::i64}};
    case TypeKind::FloatType: return {{.name = name, .dtype = DType::f32}};
    case TypeKind::BoolType: return {{.name = name, .dtype = DType::boolean}};
    case TypeKind::TupleType: break;
    default:
      throw Error(
          fmt::format("[torch] {}: argument '{}' of forward is {}, and only tensors, numbers and "
                      "tuples of them "
                      "can be fed; save a module that takes those",
                      subject, name, type->annotation_str()));
  }
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < held->containedTypes().size(); ++i)
    append(specs, specs_of(fmt::format("{}_{}", name, i), held->containedTypes()[i], subject));
  return specs;
}

// The arguments that get inputs: those after self, up to the first one with a default value.
std::span<const c10::Argument> fed_arguments(const c10::FunctionSchema& forward) {
  const auto& all = forward.arguments();
  std::size_t end = 1;
  while (end < all.size() && !all[end].default_value()) ++end;
  return std::span(all).subspan(1, end - 1);
}

c10::IValue argument(const c10::TypePtr& type, std::span<const Tensor>& inputs, DType precision) {
  const c10::TypePtr held = without_optional(type);
  if (held->kind() == TypeKind::TupleType) {
    std::vector<c10::IValue> elements;
    for (const c10::TypePtr& element : held->containedTypes())
      elements.push_back(argument(element, inputs, precision));
    return c10::ivalue::Tuple::create(std::move(elements));
  }
  const at::Tensor tensor = to_torch(inputs.front(), precision);
  inputs = inputs.subspan(1);
  switch (held->kind()) {
    case TypeKind::IntType: return tensor.item().toLong();
    case TypeKind::FloatType: return tensor.item().toDouble();
    case TypeKind::BoolType: return tensor.item().toBool();
    default: return tensor;
  }
}

// An empty `container` is the result itself, which has no name.
std::string join_output(const std::string& container, const std::string& key) {
  if (!container.empty()) return container + "_" + key;
  const bool position = key.find_first_not_of("0123456789") == std::string::npos;
  return position ? "output_" + key : key;
}

std::vector<std::string> names_of(const std::string& name, const c10::TypePtr& type) {
  if (without_optional(type)->kind() == TypeKind::TensorType) return {name};
  std::vector<std::string> names;
  if (const auto tuple = type->cast<c10::TupleType>())
    for (std::size_t i = 0; i < tuple->elements().size(); ++i)
      append(names, names_of(join_output(name, element_key(*tuple, i)), tuple->elements()[i]));
  return names;
}

bool is_named_tuple(const c10::TypePtr& type) {
  const auto tuple = type->cast<c10::TupleType>();
  return tuple && tuple->schema();
}

std::vector<std::string> names_of(const std::string& name, const Value* value) {
  using namespace torch::jit;
  const auto kind = value->node()->kind();
  const auto parts = value->node()->inputs();
  std::vector<std::string> names;
  if ((kind == prim::ListConstruct || kind == prim::TupleConstruct) &&
      !is_named_tuple(value->type())) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      append(names, names_of(join_output(name, std::to_string(i)), parts[i]));
  } else if (kind == prim::DictConstruct) {
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2)
      if (const auto key = toIValue(parts[i]); key && key->isString())
        append(names, names_of(join_output(name, key->toStringRef()), parts[i + 1]));
  } else {
    return names_of(name, value->type());
  }
  return names;
}

}  // namespace

std::vector<TensorSpec> input_specs(const c10::FunctionSchema& forward,
                                    const std::string& subject) {
  std::vector<TensorSpec> specs;
  for (const c10::Argument& fed : fed_arguments(forward))
    append(specs, specs_of(fed.name(), fed.type(), subject));
  return specs;
}

std::vector<c10::IValue> arguments(const c10::FunctionSchema& forward,
                                   std::span<const Tensor> inputs, DType precision) {
  std::vector<c10::IValue> values;
  for (const c10::Argument& fed : fed_arguments(forward))
    values.push_back(argument(fed.type(), inputs, precision));
  for (std::size_t i = values.size() + 1; i < forward.arguments().size(); ++i)
    values.push_back(*forward.arguments()[i].default_value());
  return values;
}

std::vector<std::string> output_names(const torch::jit::Graph& graph) {
  std::vector<std::string> names = names_of("", graph.outputs().at(0));
  for (std::string& name : names)
    if (name.empty()) name = "output";
  return names;
}

std::vector<Tensor> named_outputs(const c10::IValue& value) {
  std::vector<Tensor> outputs;
  for_each_tensor(value, "", join_output, [&](const std::string& name, const at::Tensor& tensor) {
    with_view(tensor, name.empty() ? "output" : name,
              [&](const TensorView& view) { outputs.push_back(copy(view)); });
  });
  return outputs;
}

}  // namespace vernier
