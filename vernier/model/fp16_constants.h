#pragma once

#include "vernier/model/convert_fp16.h"

namespace vernier_onnx {
class NodeProto;
class TensorProto;
}  // namespace vernier_onnx

namespace vernier {

// Converts a float32 tensor to float16 in place and counts the clamped elements. Infinities and NaN
// are kept.
ClampedWeight convert_weight(const Model& model, vernier_onnx::TensorProto& tensor);

// Makes a node that generates float32 generate float16: Constant, ConstantOfShape, Cast, random
// values, windows. Other nodes are left alone. Returns the counts of clamped elements.
ClampedWeight convert_generator(const Model& model, vernier_onnx::NodeProto& node);

}  // namespace vernier
