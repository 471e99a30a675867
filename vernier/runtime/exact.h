#pragma once

#include <string>
#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// Whether a DequantizeLinear of the model reads a QuantizeLinear or a stored weight. Optimisation
// would replace the float arithmetic between such quantizers by integer kernels.
bool has_dequantized_operands(const Model& model);

// The int8 values + 128, as uint8.
Tensor raise_to_unsigned(const TensorView& tensor);

// Makes the int8 weights of integer operators uint8, with a zero point 128 higher. The products are
// the same, but the kernels for uint8 x uint8 do not add pairs of products in 16 bits, as those for
// uint8 x int8 do, which saturate on CPUs with AVX2 or AVX-512 but without VNNI.
void make_weights_unsigned(Model& model);

// The MatMulNBits nodes that let the runtime round activations to 8 bits: accuracy_level 4.
std::vector<std::string> nodes_with_rounded_activations(const Model& model);

// Makes those nodes keep activations in float32: accuracy_level 1.
void keep_activations_in_float(Model& model);

// Applies make_weights_unsigned() and keep_activations_in_float(): the model then computes what its
// file says, on every CPU.
void make_exact(Model& model);

}  // namespace vernier
