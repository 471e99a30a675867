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

// A view of the tensor, which must outlive it.
Ort::Value to_ort(const Tensor& tensor);
// A copy. Throws Error for elements that are no numbers.
Tensor from_ort(const std::string& name, const Ort::Value& value);

// A session's outputs, from the session itself, which infers what the model does not say.
struct SessionOutputs {
  std::vector<TensorSpec> tensors;
  std::vector<OtherValue> others;  // no tensors of numbers
};
SessionOutputs session_outputs(const Ort::Session& session);

}  // namespace vernier
