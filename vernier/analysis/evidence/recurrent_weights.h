#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/model/index.h"
#include "vernier/runtime/runner.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// An operand of an ONNX LSTM, GRU or RNN and the parameters of the PyTorch module that it is made
// of. ONNX stacks the directions and the two biases, and orders the gates differently: LSTM iofc
// for PyTorch's ifgo, GRU zrh for rzn.
struct RecurrentWeight {
  std::string name;                     // "lstm.weight_ih_l0"; of a bias, both names
  std::vector<std::string> parameters;  // forward direction first, bias_ih before bias_hh
  std::vector<int> gates;               // PyTorch's gate indices in ONNX's order
  Shape shape;                          // in ONNX: directions, gates, inputs
};

// The operands of all recurrent modules among the parameters, in their order. ONNX has no operator
// for a module with projections, so these are left out.
std::vector<RecurrentWeight> recurrent_weights(std::span<const TensorSpec> parameters);

// The operand, from the values of its parameters by name, which all have the same type.
Tensor join(const RecurrentWeight& weight, const std::map<std::string, Tensor>& values);

bool is_recurrent_operator(const NodeProto& node);

// RecurrentWeight's name, without the module, of an operator's input in that layer: "weight_ih_l0"
// for input 1; empty for inputs that are no weights.
std::string recurrent_role(int input, int layer);

// RecurrentWeight's name of each weight that a recurrent operator reads, by the stored name.
// Operators of one scope are taken as the layers of one module.
std::map<std::string, std::string> recurrent_names(const ModelIndex& model);

}  // namespace vernier
