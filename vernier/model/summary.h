#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vernier/model/index.h"

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

QuantizationSummary summarize_quantization(const ModelIndex& index);

// Whether any count is nonzero.
bool is_quantized(const QuantizationSummary& summary);

// Totals of the weights (initializers and constants) of one element type, in all graphs.
struct WeightTotal {
  std::string dtype;
  std::int64_t tensors = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  bool operator==(const WeightTotal&) const = default;
};

struct OpsetImport {
  std::string domain;  // "ai.onnx" for ONNX itself
  std::int64_t version = 0;
  bool operator==(const OpsetImport&) const = default;
};

struct OperatorCount {
  std::string domain;  // "ai.onnx" for ONNX itself
  std::string op_type;
  std::int64_t count = 0;
  bool operator==(const OperatorCount&) const = default;
};

struct ExternalFile {
  std::string location;
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
  bool operator==(const ExternalFile&) const = default;
};

// The subgraph of an If, Loop, Scan or similar node.
struct SubgraphSummary {
  std::string path;
  std::string op_type;  // of the node that contains the subgraph
  std::int64_t nodes = 0;
  int depth = 1;  // 1 if directly inside the main graph
  bool operator==(const SubgraphSummary&) const = default;
};

struct FunctionSummary {
  std::string domain;
  std::string name;
  std::int64_t nodes = 0;
  std::int64_t calls = 0;  // from graphs, without calls from other functions
  bool operator==(const FunctionSummary&) const = default;
};

// A summary of an ONNX file, made without running it.
struct ModelSummary {
  std::int64_t ir_version = 0;
  std::string producer;  // "pytorch 1.13.1"
  std::vector<OpsetImport> opsets;
  std::string precision;
  std::int64_t nodes = 0;                // in the main graph and in subgraphs
  std::vector<OperatorCount> operators;  // of these nodes; the most frequent first, then by name
  std::vector<WeightTotal> weights;      // the most bytes first
  QuantizationSummary quantization;
  std::vector<ExternalFile> external_files;  // by location
  std::vector<SubgraphSummary> subgraphs;    // in graph order
  std::vector<FunctionSummary> functions;    // in the order of the file
  std::map<std::string, std::int64_t> index_lengths;
  bool operator==(const ModelSummary&) const = default;
};

// Saturating sum: the sizes that a file claims may overflow.
std::int64_t add_sizes(std::int64_t left, std::int64_t right);

ModelSummary summarize(const ModelIndex& index);

}  // namespace vernier
