#pragma once

#include "vernier/model/convert_fp16.h"
#include "vernier/model/onnx.h"

namespace vernier {

// Converts a float32 tensor to float16 in place and counts the clamped elements. Infinities and NaN
// are kept.
ClampedWeight convert_weight(const Model& model, TensorProto& tensor);

// Makes a node that generates float32 generate float16: Constant, ConstantOfShape, Cast, random
// values, windows. Other nodes are left alone. Returns the counts of clamped elements.
ClampedWeight convert_generator(const Model& model, NodeProto& node);

}  // namespace vernier
