#pragma once

#include "vernier/model/convert_fp16.h"

namespace vernier_onnx {
class NodeProto;
class TensorProto;
}  // namespace vernier_onnx

namespace vernier {

// Rewrites a float32 tensor in float16, and counts what had to be clamped. Infinities and NaN stay.
ClampedWeight convert_weight(const Model& model, vernier_onnx::TensorProto& tensor);

// Makes a node that generates float32 generate float16: Constant, ConstantOfShape, Cast, random
// values, windows. Nodes that say no type of their own are left alone. Returns what was clamped.
ClampedWeight convert_generator(const Model& model, vernier_onnx::NodeProto& node);

}  // namespace vernier
