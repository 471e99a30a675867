#pragma once

#include <functional>
#include <string>

#include "vernier/tensor/tensor.h"

namespace at {
class Tensor;
}
namespace c10 {
struct IValue;
struct TupleType;
}  // namespace c10

namespace vernier {

// A copy as libtorch takes it: float types become `precision`, integers int64, bool stays.
at::Tensor to_torch(const TensorView& tensor, DType precision);

// Calls `visit` with a view of the tensor in C order, valid during the call.
void with_view(const at::Tensor& tensor, const std::string& name,
               const std::function<void(const TensorView&)>& visit);

// The name of a named tuple's element, else its position.
std::string element_key(const c10::TupleType& tuple, std::size_t index);

// Calls `visit` with the tensors inside tuples, lists and dictionaries, depth first. `join` makes
// the name of an element from its container's name and its position or key. What is not a tensor is
// passed over.
using JoinName = std::function<std::string(const std::string& container, const std::string& key)>;
void for_each_tensor(const c10::IValue& value, const std::string& name, const JoinName& join,
                     const std::function<void(const std::string&, const at::Tensor&)>& visit);

}  // namespace vernier
