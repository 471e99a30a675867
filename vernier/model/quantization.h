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
  bool dynamic = false;    // scale and zero point are computed from each `before`: to uint8, by
                           // DynamicQuantizeLinear or inside the operator that reads it
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
  int channel_axis = 0;  // of the reader's output channels; -1: the last
  Quantizer quantizer;
  // Reads what readers compute with, in float32, from the model, which must still be there.
  std::function<Tensor()> real;
};

// The output of an operator that computes with quantized weights and writes real numbers.
struct WeightedOutput {
  // The operator's output; the next is that with the bias added, where a node of its own adds it.
  std::vector<std::string> tensors;
  std::string node;
  std::string op;
  bool operator==(const WeightedOutput&) const = default;
};

// What is quantized in a way that find_quantization does not read.
struct UnreadQuantization {
  enum class Reason { computed_scale, unknown_weight_scale, computed_weight, unknown_operator };
  Reason reason = Reason::unknown_operator;
  std::string subject;  // a tensor for computed_scale, else a node
  std::string op;
  bool operator==(const UnreadQuantization&) const = default;
};

struct Quantization {
  std::vector<QuantizedActivation> activations;  // in graph order
  std::vector<QuantizedWeight> weights;
  std::vector<WeightedOutput> outputs;
  std::vector<UnreadQuantization> unread;
  bool empty() const {
    return activations.empty() && weights.empty() && outputs.empty() && unread.empty();
  }
};

// The axis of a weight that has its reader's output channels. Matrix products have them last (-1),
// unless the weight is stored transposed or is the left factor; convolutions have them first,
// transposed ones second.
int output_channel_axis(const vernier_onnx::NodeProto& reader, int input);

// The axis of output channels of a matrix, on which all products that read it agree; nothing where
// they do not, or something else reads it.
std::optional<int> matrix_output_axis(const GraphIndex& graph, const std::string& matrix);

// Finds Q-DQ pairs (ONNX's and com.microsoft's, in the main graph and in subgraphs), weights behind
// DequantizeLinear, a Q-DQ pair or a Gather, QOperator nodes, the operators of dynamic quantization
// (DynamicQuantizeLinear, ConvInteger, MatMulInteger, MatMulIntegerToFloat, DynamicQuantizeMatMul)
// and MatMulNBits.
Quantization find_quantization(const ModelIndex& index);
Quantization find_quantization(const Model& model);

}  // namespace vernier
