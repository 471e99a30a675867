#pragma once

#include <optional>

#include "vernier/model/quantization_grid.h"
#include "vernier/tensor/tensor.h"

namespace vernier_onnx {
class NodeProto;
}

namespace vernier {

struct NBitsWeight {
  QuantizationGrid grid;  // blocks along axis 1 of [N, K]
  Tensor real;            // [N, K]: the transpose of the float model's [K, N]
};

// The weight of a MatMulNBits node (com.microsoft): `bits` bits an element, packed from the low
// end, in blocks along K. Zero points are packed likewise, or real; absent they are 2^(bits-1).
// Throws Error when the tensors do not fit the node's K, N, bits and block_size.
NBitsWeight unpack_n_bits(const vernier_onnx::NodeProto& node, const Tensor& packed,
                          const Tensor& scales, const std::optional<Tensor>& zero_points);

}  // namespace vernier
