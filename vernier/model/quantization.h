#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vernier/model/index.h"
#include "vernier/model/quantizer.h"

namespace vernier {

// What a model quantizes, found by following its graph; names are those that probes give tensors.

// An activation that is stored on a quantizer.
struct QuantizedActivation {
  std::string name;    // as users know it: the tensor before, or the graph output after
  std::string before;  // the real tensor that is quantized; empty where an operator writes stored
                       // numbers itself (QLinearConv)
  std::string after;   // the real tensor that comes back; empty where only `stored` can be watched
  std::string stored;  // the tensor of stored numbers
  Quantizer quantizer;
  std::string node;        // the node that quantizes
  std::string writer;      // the node that computes it, empty for inputs
  std::string writer_op;   // its operator
  int writer_output = -1;  // and which of its outputs it is
  bool operator==(const QuantizedActivation&) const = default;
};

enum class WeightForm { dequantized, fake_quantized, q_operator, integer_operator, n_bits };

// A weight that is stored on a quantizer.
struct QuantizedWeight {
  std::string name;  // of the stored (or, fake-quantized, real) initializer
  WeightForm form = WeightForm::dequantized;
  std::string real_name;  // the tensor that readers see; empty if there is none
  std::string reader;     // the node that computes with it, and
  int reader_input = -1;  // which of its inputs it is
  std::string reader_output;
  Quantizer quantizer;
  // Reads what readers compute with, in float32, from the model, which must still be there.
  std::function<Tensor()> real;
};

struct Quantization {
  std::vector<QuantizedActivation> activations;  // in graph order
  std::vector<QuantizedWeight> weights;
  std::vector<std::string> outputs;  // of operators that compute with quantized weights alone
  std::vector<std::string> notes;    // what is quantized in a way that is not understood
  bool empty() const { return activations.empty() && weights.empty(); }
};

// Finds Q-DQ pairs (ONNX's and com.microsoft's, in the main graph and in subgraphs), weights behind
// DequantizeLinear or a Q-DQ pair, QOperator nodes, integer matrix products of dynamic
// quantization, and MatMulNBits.
Quantization find_quantization(const ModelIndex& index);
Quantization find_quantization(const Model& model);

}  // namespace vernier
