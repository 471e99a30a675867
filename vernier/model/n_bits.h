#pragma once

#include <optional>

#include "vernier/model/quantizer.h"
#include "vernier/tensor/tensor.h"

namespace vernier_onnx {
class NodeProto;
}

namespace vernier {

// The weight of a MatMulNBits node (com.microsoft): `bits` bits an element, packed from the low
// end, in blocks along K. Zero points are packed likewise, or real; absent they are 2^(bits-1).
// [N, K]: the transpose of the float model's [K, N]. Throws Error when the tensors do not fit the
// node's K, N, bits and block_size.
Tensor unpack_n_bits(const vernier_onnx::NodeProto& node, const Tensor& packed,
                     const Tensor& scales, const std::optional<Tensor>& zero_points);

// Its quantizer, without the zero points: blocks along axis 1 of [N, K].
Quantizer n_bits_quantizer(const vernier_onnx::NodeProto& node, Tensor scales);

}  // namespace vernier
