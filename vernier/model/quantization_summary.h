#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// Nodes with block-quantized weights (MatMulNBits and similar), of one width and block size.
struct BlockQuantized {
  std::string op_type;
  std::int64_t bits = 0;
  std::int64_t block_size = 0;
  std::int64_t nodes = 0;
  bool operator==(const BlockQuantized&) const = default;
};

// How a model is quantized, counted over the main graph and subgraphs.
struct QuantizationSummary {
  std::int64_t quantize = 0;            // QuantizeLinear nodes
  std::int64_t dequantize = 0;          // DequantizeLinear nodes
  std::int64_t activation_pairs = 0;    // DequantizeLinear of a QuantizeLinear
  std::int64_t weights_per_tensor = 0;  // DequantizeLinear of a weight, by granularity
  std::int64_t weights_per_channel = 0;
  std::int64_t weights_blockwise = 0;
  std::map<std::string, std::int64_t> types;  // DequantizeLinear nodes by stored type
  std::map<std::string, std::int64_t>
      integer_operators;              // QOperator: QLinearConv, MatMulInteger...
  std::int64_t dynamic_quantize = 0;  // DynamicQuantizeLinear nodes
  std::vector<BlockQuantized> block_quantized;
  bool operator==(const QuantizationSummary&) const = default;
};

QuantizationSummary summarize_quantization(const Model& model);

// Whether any count is nonzero.
bool is_quantized(const QuantizationSummary& summary);

}  // namespace vernier
