#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/search.h"
#include "vernier/model/index.h"

namespace vernier {

// The range of a Relu or Clip of the float model that was removed from the graph and that the
// quantizer's range replaces; infinite where there is none.
struct ActivationBounds {
  double low = -INFINITY, high = INFINITY;
  bool operator==(const ActivationBounds&) const = default;
};

// The quantizers of an existing Q-DQ model, in the form in which choices are made.
struct ShippedQuantizers {
  // A Q-DQ pair, or several that share their scale and zero point.
  struct Activation {
    std::vector<std::string> tensors;      // before the quantizer; the first names it in choices
    std::vector<ActivationBounds> bounds;  // one for each tensor
    std::vector<int> nodes;                // QuantizeLinear and DequantizeLinear
    Quantizer quantizer;
    CalibratedRange range;  // as shipped

    const ActivationBounds& bounds_of(const std::string& tensor) const;
    // Bounds of a range for all tensors: a wider one would undo a Relu that the quantizer replaces.
    ActivationBounds common_bounds() const;
  };
  // A weight behind a DequantizeLinear, read by a Conv, Gemm or MatMul.
  struct Operand {
    int dequantize = -1;
    Quantizer quantizer;
    std::optional<Tensor> original;  // the reference's; nullopt if not found or shared
    int channel_axis = -1;
  };
  struct Node {
    int node = 0;
    std::string name;
    std::string activation;  // tensors.front() of the Activation that it reads; empty if none
    Operand weight;
    int bias = -1;  // DequantizeLinear of an int32 bias; -1 if none
  };
  // Any other stored constant whose float values are known: biases, parameters of normalisations,
  // embedding tables.
  struct Constant {
    int node = 0;
    std::string name;  // of the node
    int input = 0;     // of the node
    int dequantize = 0;
    std::size_t readers = 0;  // of the DequantizeLinear's output
    Tensor original;
  };
  std::vector<Activation> activations;
  std::vector<Node> nodes;
  std::vector<Constant> constants;
};

// Finds the per-tensor Q-DQ pairs with constant scales in the main graph, and the Conv, Gemm and
// MatMul nodes with quantized weights. Float weights are searched for in the reference, unless
// `weights` is `left`.
enum class ShippedWeights { read, left };
ShippedQuantizers find_shipped(const ModelIndex& candidate, const ModelIndex& reference,
                               ShippedWeights weights = ShippedWeights::read);

// Applies the ranges, weight scales and bias shifts of the choices; everything as shipped stays the
// same, bit for bit. per_channel and weight rules apply only to weights whose original is known.
// Weights that become unsigned represent the same numbers.
Model write_shipped(const ModelIndex& candidate, const ShippedQuantizers& shipped,
                    const QuantizationChoices& choices);

// Whether the storage turns an int8 weight into uint8: only if its activation is uint8, too.
bool becomes_unsigned(const ShippedQuantizers& shipped, const ShippedQuantizers::Node& node,
                      WeightStorage storage);

// Removes the Q-DQ pairs of the tensors that `is_removed` accepts and applies their bounds instead.
// With all pairs removed, no shipped range clips a tensor, so that ranges can be measured.
Model without_quantizers(const ModelIndex& candidate, const ShippedQuantizers& shipped,
                         const std::function<bool(const std::string& tensor)>& is_removed);

// Removes the Q-DQ pairs of these nodes' outputs, also where other nodes only move them, and
// restores the nodes' float weights, biases and other constants as far as these are known.
Model keep_in_float(const ModelIndex& candidate, const ShippedQuantizers& shipped,
                    const std::vector<std::string>& nodes);

// The name of the node that computes a tensor; the tensor itself if it is an input.
std::string owner_of(const ModelIndex& candidate, const std::string& tensor);

}  // namespace vernier
