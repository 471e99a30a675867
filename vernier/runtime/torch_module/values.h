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

// A copy as a libtorch tensor: floats become `precision`, integers int64, bool stays bool.
at::Tensor to_torch(const TensorView& tensor, DType precision);

// Calls `visit` with a C-order view of the tensor that is valid during the call.
void with_view(const at::Tensor& tensor, const std::string& name,
               const std::function<void(const TensorView&)>& visit);

// The field name of a named tuple's element, else the element's index.
std::string element_key(const c10::TupleType& tuple, std::size_t index);

// Calls `visit` with the tensors inside tuples, lists and dictionaries, depth first. `join` makes
// the name of an element from its container's name and its index or key. Values that are not
// tensors are skipped.
using JoinName = std::function<std::string(const std::string& container, const std::string& key)>;
void for_each_tensor(const c10::IValue& value, const std::string& name, const JoinName& join,
                     const std::function<void(const std::string&, const at::Tensor&)>& visit);

}  // namespace vernier
