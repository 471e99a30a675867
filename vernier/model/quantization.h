#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vernier/model/index.h"
#include "vernier/model/quantizer.h"

namespace vernier {

// What a model quantizes, found by following its graph. Tensors are named by GraphIndex::label().

// An activation that passes through a quantizer.
struct QuantizedActivation {
  std::string name;    // as users know it: `before`, or `after` if that is a graph output
  std::string before;  // the real tensor that is quantized; empty if an operator writes stored
                       // integers itself (QLinearConv)
  std::string after;   // the dequantized tensor; empty if only `stored` can be watched
  std::string stored;  // the tensor of stored integers
  Quantizer quantizer;
  std::string node;        // the node that quantizes
  std::string writer;      // the node that computes the activation; empty for graph inputs
  std::string writer_op;   // operator of `writer`
  int writer_output = -1;  // which output of `writer` the activation is
  bool dynamic = false;    // scale and zero point (uint8) are computed in each run, by
                           // DynamicQuantizeLinear or inside the operator that reads it
  bool operator==(const QuantizedActivation&) const = default;
};

// A quantized weight.
struct QuantizedWeight {
  std::string name;  // of the stored initializer; of the float one if fake-quantized
  WeightForm form = WeightForm::dequantized;
  std::string real_name;  // the dequantized tensor; empty if the reader reads the stored integers
  std::string reader;     // the node that computes with the weight
  int reader_input = -1;  // which input of `reader` the weight is
  std::string reader_output;
  int channel_axis = 0;  // the weight's axis of the reader's output channels; -1 is the last
  Quantizer quantizer;
  // The dequantized weight in float32. Reads from the model, which must still exist.
  std::function<Tensor()> real;
};

// The output of an operator that reads a quantized weight and writes real numbers.
struct WeightedOutput {
  // The operator's output, then the output of the Add of a constant bias, if one follows.
  std::vector<std::string> tensors;
  std::string node;
  std::string op;
  bool operator==(const WeightedOutput&) const = default;
};

// A quantized tensor or node that find_quantization() cannot interpret.
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

// Whether the node is not null and is this operator, of any domain.
bool is_quantize_linear(const NodeProto* node);
bool is_dequantize_linear(const NodeProto* node);

// The real product that Cast and Mul compute from the tensor of an integer product; empty if they
// do not.
std::string real_product(const GraphIndex& graph, std::string integers);

// The weight's axis of its reader's output channels. For matrix products it is the last (-1),
// unless the weight is stored transposed or is the left factor; for convolutions the first, for
// transposed convolutions the second.
int output_channel_axis(const NodeProto& reader, int input);

// The axis of output channels of a matrix; nullopt if the products that read it disagree, if
// another operator reads it, or if nothing does.
std::optional<int> matrix_output_axis(const GraphIndex& graph, const std::string& matrix);

// The Gather that `last` passes on the rows of, and the nodes behind it that only move them
// (Transpose, Reshape and the like), up to `last`; empty if `last` does not end such a chain. A
// quantizer with one scale commutes with them.
std::vector<const NodeProto*> gathered_rows(const GraphIndex& graph, const NodeProto* last);

// Finds Q-DQ pairs (ONNX's and com.microsoft's, in the main graph and in subgraphs), weights behind
// DequantizeLinear, a Q-DQ pair or a Gather, QOperator nodes, the operators of dynamic quantization
// (DynamicQuantizeLinear, ConvInteger, MatMulInteger, MatMulIntegerToFloat, DynamicQuantizeMatMul)
// and MatMulNBits.
Quantization find_quantization(const ModelIndex& index);

}  // namespace vernier
