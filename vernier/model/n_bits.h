#pragma once

#include <optional>

#include "vernier/model/onnx.h"
#include "vernier/model/quantizer.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Unpacks the weight of a MatMulNBits node (com.microsoft) to float32 [N, K], the transpose of the
// float model's [K, N]. Elements have `bits` bits, packed from the lowest bit up, in blocks along
// K. Zero points are packed the same way, or float; if absent, they are 2^(bits-1). Throws Error if
// the tensors do not fit the node's K, N, bits and block_size.
Tensor unpack_n_bits(const NodeProto& node, const Tensor& packed, const Tensor& scales,
                     const std::optional<Tensor>& zero_points);

// The weight's quantizer, with blocks along axis 1 of [N, K] and without the zero points.
Quantizer n_bits_quantizer(const NodeProto& node, Tensor scales);

}  // namespace vernier
