#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// Where quantizers go.
enum class QuantizerPlacement {
  integer,  // operands of Conv, ConvTranspose, Gemm and MatMul, and what Conv writes: without it
            // ONNX Runtime computes the convolution in float
  inputs,   // their operands alone
  all       // operands and results of every operator that ONNX Runtime's quantizer takes
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
  std::vector<ReaderInput> readers;  // that read it quantized
  bool everywhere = false;  // no reader reads it as it was, and the model returns it quantized
  std::size_t root = 0;     // the placed tensor whose quantizer it shares: it is the same values
                            // moved, or fewer of them
};

// A constant operand that is stored quantized.
struct PlacedWeight {
  std::string name;
  ReaderInput reader;
  int axis = -1;  // of the output channels; -1: none, one scale for all
};

// A node that computes from quantized operands.
struct PlacedNode {
  int node = 0;
  std::string name;  // node_label
  std::string op;
  std::vector<std::size_t> tensors;  // its operands among the placed tensors
  std::vector<std::size_t> weights;
  std::string output;
  std::int64_t channels = 0;               // of the output; 0: not known
  int channel_axis = 0;                    // of the output, -1: the last
  std::string bias;                        // a constant of so many channels; empty: none
  std::optional<ReaderInput> bias_reader;  // where a bias is or can be put; nothing: nowhere
  bool integer_bias = false;               // the bias is an operand of the node itself
};

struct PlacementPlan {
  std::vector<PlacedTensor> tensors;  // in graph order of their producers, inputs first
  std::vector<PlacedWeight> weights;
  std::vector<PlacedNode> nodes;
};

struct PlacementOptions {
  QuantizerPlacement placement = QuantizerPlacement::integer;
  bool activations = true;              // false: weights alone
  std::vector<std::string> keep_nodes;  // names or globs of nodes that stay in float
};

// Where quantizers go in the main graph of a float model. Throws Error where a kept node is not
// there.
PlacementPlan place_quantizers(const Model& model, const PlacementOptions& options);

}  // namespace vernier
