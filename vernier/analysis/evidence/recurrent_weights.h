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

// An operand of an ONNX LSTM, GRU or RNN and the parameters of a PyTorch module that it is made of.
// ONNX stacks the directions and the biases, and has the gates in another order: LSTM iofc for
// PyTorch's ifgo, GRU zrh for rzn.
struct RecurrentWeight {
  std::string name;                     // "lstm.weight_ih_l0"; of biases both
  std::vector<std::string> parameters;  // the forward direction's first, bias_ih before bias_hh
  std::vector<int> gates;               // ONNX's order, by PyTorch's numbers
  Shape shape;                          // as ONNX has it: directions, gates, inputs
};

// Those of all recurrent modules among the parameters, in their order. A module with projections
// has no ONNX operator: none.
std::vector<RecurrentWeight> recurrent_weights(std::span<const TensorSpec> parameters);

// The operand, of the values of its parameters, by name, which all have the same type.
Tensor join(const RecurrentWeight& weight, const std::map<std::string, Tensor>& values);

bool is_recurrent_operator(const vernier_onnx::NodeProto& node);

// What RecurrentWeight calls the input of the operator that computes that layer of a module,
// without the module: "weight_ih_l0" of input 1; empty for others.
std::string recurrent_role(int input, int layer);

// What RecurrentWeight calls each weight that a recurrent operator of the model reads, by its name.
// Operators of one scope are the layers of one module.
std::map<std::string, std::string> recurrent_names(const ModelIndex& model);

}  // namespace vernier
