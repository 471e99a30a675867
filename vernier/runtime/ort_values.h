#pragma once

#include <string>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/tensor/tensor.h"

namespace Ort {
struct Session;
struct Value;
}  // namespace Ort

namespace vernier {

// A view of `tensor`, which must outlive the returned value.
Ort::Value to_ort(const Tensor& tensor);
// A copy of `value`. Throws Error if its elements are not numbers.
Tensor from_ort(const std::string& name, const Ort::Value& value);

// A session's outputs, with types and shapes as the session inferred them.
struct SessionOutputs {
  std::vector<TensorSpec> tensors;
  std::vector<OtherValue> others;  // not numeric tensors
};
SessionOutputs session_outputs(const Ort::Session& session);

}  // namespace vernier
