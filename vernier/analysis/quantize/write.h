#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/blocks.h"
#include "vernier/analysis/quantize/placement.h"
#include "vernier/analysis/quantize/precision.h"
#include "vernier/analysis/quantize/ranges.h"
#include "vernier/analysis/quantize/weights.h"
#include "vernier/model/model.h"

namespace vernier {

// All that is decided about a quantized model besides where its quantizers are.
struct QuantizationChoices {
  QuantizedPrecision precision;
  CalibratedRanges ranges;                          // by the root of placed tensors
  std::map<std::string, int> activation_bits = {};  // other than the precision's, by root
  WeightStorage storage = WeightStorage::int8;
  std::map<std::string, WeightRule> weight_rules = {};  // by weight; others: minmax
  bool symmetric = false;  // activations: zero is in the middle of the range
  bool per_channel = true;
  // Of weights in blocks: how they are stored, but for those of other bits, by weight.
  BlockOptions blocks = {};
  std::map<std::string, int> weight_bits = {};
  std::shared_ptr<PackedWeights> packed = {};  // null: packed when written
  // Added to each output channel of a node, by its name: bias correction.
  std::map<std::string, std::vector<double>> shifts = {};
};

// The scale and zero point of an activation's quantizer: uint8 or uint16.
Quantizer activation_quantizer(const CalibratedRange& range, int bits, bool symmetric = false);

// The model with QuantizeLinear and DequantizeLinear at the placed tensors, integer weights, and
// int32 biases.
Model write_static(const Model& model, const PlacementPlan& plan,
                   const QuantizationChoices& choices);

// Weights alone: int8 behind DequantizeLinear; of matrix products 4 bits, or 8 where the choices
// say so, in blocks (MatMulNBits).
Model write_weight_only(const Model& model, const PlacementPlan& plan,
                        const QuantizationChoices& choices);

// DynamicQuantizeLinear before MatMulInteger and ConvInteger: what is placed and has no integer
// operator stays in float.
Model write_dynamic(const Model& model, const PlacementPlan& plan,
                    const QuantizationChoices& choices);

// By the precision.
Model write_quantized(const Model& model, const PlacementPlan& plan,
                      const QuantizationChoices& choices);

}  // namespace vernier
