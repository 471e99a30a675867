#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/search.h"
#include "vernier/model/index.h"

namespace vernier {

// What a quantizer does besides rounding: it stands for a Relu or Clip of the float model that the
// file leaves to it.
struct ActivationBounds {
  double low = -INFINITY, high = INFINITY;
  bool operator==(const ActivationBounds&) const = default;
};

// The quantizers of somebody's Q-DQ model, in the terms in which choices are made.
struct ShippedQuantizers {
  // A Q-DQ pair, or several that share scale and zero point.
  struct Activation {
    std::vector<std::string> tensors;      // that are quantized; the first is its name in choices
    std::vector<ActivationBounds> bounds;  // of each of the tensors
    std::vector<int> nodes;                // QuantizeLinear and DequantizeLinear
    Quantizer quantizer;
    CalibratedRange range;  // as shipped

    const ActivationBounds& bounds_of(const std::string& tensor) const;
    // Of a range for all of them: one that is wider undoes a Relu that the quantizer stands for.
    ActivationBounds common_bounds() const;
  };
  // A stored weight behind DequantizeLinear, and the node that multiplies with it.
  struct Operand {
    int dequantize = -1;
    Quantizer quantizer;
    std::optional<Tensor> original;  // the float model's; nothing: not found
    int channel_axis = -1;
  };
  struct Node {
    int node = 0;
    std::string name;
    std::string activation;  // of Activation::tensors.front(); empty: none
    Operand weight;
    int bias = -1;  // DequantizeLinear of an int32 bias; -1: none
  };
  // What else a node reads from storage, where the float model's is known: biases, the numbers of
  // norms, tables.
  struct Constant {
    int node = 0;
    std::string name;  // of the node
    int input = 0;     // of the node
    int dequantize = 0;
    std::size_t readers = 0;  // of what that writes
    Tensor original;
  };
  std::vector<Activation> activations;
  std::vector<Node> nodes;
  std::vector<Constant> constants;
};

// Static Q-DQ pairs per tensor of the main graph, and the Conv, Gemm and MatMul that read them. The
// float weights are looked for in the reference, unless only names are wanted.
enum class ShippedWeights { read, left };
ShippedQuantizers find_shipped(const ModelIndex& candidate, const ModelIndex& reference,
                               ShippedWeights weights = ShippedWeights::read);

// The model with the ranges, weight scales and bias shifts of the choices: what is as shipped stays
// as it is, bit for bit. per_channel and weight rules touch only weights whose original is known.
// Weights that become unsigned stand for the same numbers.
Model write_shipped(const Model& candidate, const ShippedQuantizers& shipped,
                    const QuantizationChoices& choices);

// Whether the storage makes a weight of int8 uint8: kernels take that beside activations of uint8.
bool becomes_unsigned(const ShippedQuantizers& shipped, const ShippedQuantizers::Node& node,
                      WeightStorage storage);

// The model without the Q-DQ pairs of the activations that are asked for, but with their bounds.
// Without any, its tensors are what no shipped range has cut off, so that ranges can be measured.
Model without_quantizers(const Model& candidate, const ShippedQuantizers& shipped,
                         const std::function<bool(const std::string& tensor)>& is_removed);

// The same for what these nodes compute, and where others only move that, with their float weights,
// biases and other constants as far as they are known.
Model keep_in_float(const ModelIndex& candidate, const ShippedQuantizers& shipped,
                    const std::vector<std::string>& nodes);

// The node that computes a tensor, or the tensor itself where it is an input.
std::string owner_of(const ModelIndex& candidate, const std::string& tensor);

}  // namespace vernier
