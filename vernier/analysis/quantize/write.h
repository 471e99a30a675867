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
#include "vernier/model/index.h"

namespace vernier {

// Everything that is chosen for a quantized model except where its quantizers are.
struct QuantizationChoices {
  QuantizedPrecision precision;
  CalibratedRanges ranges;                          // by root of the placed tensors
  std::map<std::string, int> activation_bits = {};  // exceptions from the precision, by root
  WeightStorage storage = WeightStorage::int8;
  std::map<std::string, WeightRule> weight_rules = {};  // by weight; minmax for all others
  bool symmetric = false;  // activation ranges are symmetric around zero
  bool per_channel = true;
  // Block-quantized weights, and exceptions from their bits, by weight.
  BlockOptions blocks = {};
  std::map<std::string, int> weight_bits = {};
  std::shared_ptr<PackedWeights> packed = {};  // null to pack when written
  // Bias correction: added to each output channel, by node name.
  std::map<std::string, std::vector<double>> shifts = {};
};

// The scale and zero point of an activation's quantizer, which is uint8 or uint16.
Quantizer activation_quantizer(const CalibratedRange& range, int bits, bool symmetric = false);

// Quantizes weights only: int8 behind DequantizeLinear. With 4 bits, weights of matrix products are
// stored in blocks for MatMulNBits, in 8 bits if weight_bits says so.
Model write_weight_only(const ModelIndex& model, const PlacementPlan& plan,
                        const QuantizationChoices& choices);

// Inserts DynamicQuantizeLinear before MatMulInteger and ConvInteger. Placed nodes without an
// integer operator stay in float.
Model write_dynamic(const ModelIndex& model, const PlacementPlan& plan,
                    const QuantizationChoices& choices);

// Calls one of the above if the precision says so; else inserts Q-DQ pairs at the placed tensors
// and stores integer weights and int32 biases.
Model write_quantized(const ModelIndex& model, const PlacementPlan& plan,
                      const QuantizationChoices& choices);

}  // namespace vernier
