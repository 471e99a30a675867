#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/model/index.h"

namespace vernier {

// Where quantizers go.
enum class QuantizerPlacement {
  integer,  // operands of Conv, ConvTranspose, Gemm and MatMul, and outputs of Conv: ONNX Runtime
            // computes a convolution in float unless its output is quantized
  inputs,   // the same operands, but no outputs
  all       // operands and outputs of every operator that ONNX Runtime's quantizer supports
};
std::string_view placement_name(QuantizerPlacement placement);
QuantizerPlacement parse_placement(std::string_view name);

// An input of a node of the main graph.
struct ReaderInput {
  int node = 0;
  int input = 0;
  auto operator<=>(const ReaderInput&) const = default;
};

// An activation that gets a quantizer.
struct PlacedTensor {
  std::string name;
  std::vector<ReaderInput> readers;  // inputs that read the quantized tensor
  bool everywhere = false;           // all readers and the model's output get the quantized tensor
  std::size_t root = 0;  // index of the placed tensor whose quantizer it shares, because it holds
                         // some or all of that tensor's values; its own index if none
};

// A constant operand that is stored quantized.
struct PlacedWeight {
  std::string name;
  ReaderInput reader;
  int axis = -1;  // output channel axis; -1 for one scale for the whole weight
};

// A node that computes from quantized operands.
struct PlacedNode {
  int node = 0;
  std::string name;  // node_label
  std::string op;
  std::vector<std::size_t> tensors;  // quantized operands: indices into PlacementPlan::tensors
  std::vector<std::size_t> weights;
  std::string output;
  std::string
      quantized_output;       // `output`, or that of the Relu or Clip that is fused into the node
  std::int64_t channels = 0;  // output channels; 0 if unknown
  int channel_axis = 0;       // of the output; -1 for the last axis
  std::string bias;           // constant with one value per channel; empty if none
  std::optional<ReaderInput> bias_reader;  // input that holds, or can hold, a bias; nullopt if none
  bool integer_bias = false;  // the bias is an input of this node, not of an Add behind it
};

struct PlacementPlan {
  std::vector<PlacedTensor> tensors;  // inputs first, then in execution order
  std::vector<PlacedWeight> weights;
  std::vector<PlacedNode> nodes;
};

struct PlacementOptions {
  QuantizerPlacement placement = QuantizerPlacement::integer;
  bool activations = true;              // false to quantize weights only
  std::vector<std::string> keep_nodes;  // names or globs of nodes that stay in float
};

// Decides where quantizers go in the main graph of a float model. Throws Error if a name in
// keep_nodes matches no node.
PlacementPlan place_quantizers(const ModelIndex& index, const PlacementOptions& options);

}  // namespace vernier
