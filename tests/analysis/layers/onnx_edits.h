#pragma once

#include <vernier_onnx.pb.h>

#include <stdexcept>
#include <string>

#include "vernier/model/model.h"
#include "vernier/model/tensor_data.h"

namespace vernier {

inline vernier_onnx::TensorProto& initializer(Model& model, const std::string& name) {
  for (auto& weight : *model.graph().mutable_initializer())
    if (weight.name() == name) return weight;
  throw std::out_of_range(name);
}

inline vernier_onnx::NodeProto& node(Model& model, const std::string& name) {
  for (auto& each : *model.graph().mutable_node())
    if (each.name() == name) return each;
  throw std::out_of_range(name);
}

// Replaces a float32 initializer by what `change` makes of its elements.
template <typename Change>
void edit_weight(Model& model, const std::string& name, Change change) {
  vernier_onnx::TensorProto& proto = initializer(model, name);
  Tensor tensor = model.tensor(proto);
  change(elements<float>(tensor));
  proto = make_tensor_proto(tensor);
}

}  // namespace vernier
