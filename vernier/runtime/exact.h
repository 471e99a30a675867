#pragma once

#include <string>
#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// Whether the model holds operands that a DequantizeLinear makes real, of what a QuantizeLinear or
// a weight stores: optimisation replaces the float arithmetic between such quantizers by integer
// kernels.
bool has_dequantized_operands(const Model& model);

// An int8 tensor's numbers, each 128 higher, as uint8.
Tensor raise_to_unsigned(const TensorView& tensor);

// Makes the int8 weights of integer operators uint8, with a zero point 128 higher. The products are
// the same, but no kernel adds pairs of them in 16 bits: those for uint8 x int8 saturate on CPUs
// with AVX2 or AVX-512 that have no VNNI.
void make_weights_unsigned(Model& model);

// The nodes that multiply weights in blocks (MatMulNBits) and let the runtime round activations to
// 8 bits: accuracy_level 4.
std::vector<std::string> nodes_with_rounded_activations(const Model& model);

// Makes these nodes compute with activations in float32: accuracy_level 1.
void keep_activations_in_float(Model& model);

// Both: what the model computes is then what its file says, on every CPU.
void make_exact(Model& model);

}  // namespace vernier
