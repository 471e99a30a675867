#include "vernier/runtime/torch_module/values.h"

#include <fmt/format.h>
#include <torch/script.h>

#include "vernier/error.h"

namespace vernier {
namespace {

struct TypePair {
  DType dtype;
  at::ScalarType scalar_type;
};

constexpr TypePair type_pairs[] = {
    {DType::f64, at::kDouble},    {DType::f32, at::kFloat}, {DType::f16, at::kHalf},
    {DType::bf16, at::kBFloat16}, {DType::i64, at::kLong},  {DType::i32, at::kInt},
    {DType::i16, at::kShort},     {DType::i8, at::kChar},   {DType::u8, at::kByte},
    {DType::boolean, at::kBool},
};

DType dtype_of(const at::Tensor& tensor, const std::string& name) {
  for (const TypePair& pair : type_pairs)
    if (pair.scalar_type == tensor.scalar_type()) return pair.dtype;
  throw Error(
      fmt::format("[torch] '{}' is {}, which cannot be compared; leave it out of the model's "
                  "outputs",
                  name, at::toString(tensor.scalar_type())));
}

// libtorch has no wider unsigned type than uint8.
template <typename From>
at::Tensor widen_unsigned(const TensorView& tensor) {
  const auto from = elements<From>(tensor);
  at::Tensor result =
      at::empty(at::IntArrayRef(tensor.shape.data(), tensor.shape.size()), at::kLong);
  std::copy(from.begin(), from.end(), result.data_ptr<std::int64_t>());
  return result;
}

at::Tensor copy_of(const TensorView& tensor) {
  for (const TypePair& pair : type_pairs)
    if (pair.dtype == tensor.dtype)
      return at::from_blob(const_cast<std::byte*>(tensor.bytes.data()),
                           at::IntArrayRef(tensor.shape.data(), tensor.shape.size()),
                           at::TensorOptions(pair.scalar_type))
          .clone();
  switch (tensor.dtype) {
    case DType::u16: return widen_unsigned<std::uint16_t>(tensor);
    case DType::u32: return widen_unsigned<std::uint32_t>(tensor);
    case DType::u64: return widen_unsigned<std::uint64_t>(tensor);
    default: break;
  }
  throw Error(
      fmt::format("[torch] input '{}' is {}, which libtorch cannot take; use float32 or int64",
                  tensor.name, dtype_name(tensor.dtype)));
}

}  // namespace

at::Tensor to_torch(const TensorView& tensor, DType precision) {
  const at::Tensor copied = copy_of(tensor);
  if (copied.is_floating_point())
    return copied.to(precision == DType::f64 ? at::kDouble : at::kFloat);
  return tensor.dtype == DType::boolean ? copied : copied.to(at::kLong);
}

void with_view(const at::Tensor& tensor, const std::string& name,
               const std::function<void(const TensorView&)>& visit) {
  const DType dtype = dtype_of(tensor, name);
  const at::Tensor dense = tensor.detach().resolve_neg().to(at::kStrided).contiguous();
  visit({.name = name,
         .dtype = dtype,
         .shape = {dense.sizes().data(), dense.sizes().size()},
         .bytes = {static_cast<const std::byte*>(dense.data_ptr()), dense.nbytes()}});
}

std::string element_key(const c10::TupleType& tuple, std::size_t index) {
  return tuple.schema() ? tuple.schema()->arguments().at(index).name() : std::to_string(index);
}

void for_each_tensor(const c10::IValue& value, const std::string& name, const JoinName& join,
                     const std::function<void(const std::string&, const at::Tensor&)>& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(name, value.toTensor());
  } else if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    const auto type = value.type()->expect<c10::TupleType>();
    for (std::size_t i = 0; i < elements.size(); ++i)
      for_each_tensor(elements[i], join(name, element_key(*type, i)), join, visit);
  } else if (value.isList()) {
    int index = 0;
    for (const c10::IValue& element : value.toListRef())
      for_each_tensor(element, join(name, std::to_string(index++)), join, visit);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      const std::string key = entry.key().isString() ? entry.key().toStringRef()
                                                     : fmt::format("{}", entry.key().toInt());
      for_each_tensor(entry.value(), join(name, key), join, visit);
    }
  }
}

}  // namespace vernier
