#include "vernier/model/quantization_summary.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>

#include "vernier/model/index.h"
#include "vernier/model/onnx_type.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;
using vernier_onnx::TensorProto;

constexpr std::array<std::string_view, 8> integer_operators = {"ConvInteger",
                                                               "MatMulInteger",
                                                               "MatMulIntegerToFloat",
                                                               "QGemm",
                                                               "QAttention",
                                                               "QEmbedLayerNormalization",
                                                               "DynamicQuantizeMatMul",
                                                               "DynamicQuantizeLSTM"};
constexpr std::array<std::string_view, 3> block_operators = {"MatMulNBits", "GatherBlockQuantized",
                                                             "MatMulBnb4"};

bool is_integer_operator(const NodeProto& node) {
  return node.op_type().starts_with("QLinear") || is_one_of(node, integer_operators);
}

class QuantizationCounter {
 public:
  void add(const NodeProto& node, const GraphIndex& index) {
    summary_.quantize += node.op_type() == "QuantizeLinear";
    summary_.dynamic_quantize += node.op_type() == "DynamicQuantizeLinear";
    if (node.op_type() == "DequantizeLinear") add_dequantize(node, index);
    if (is_integer_operator(node)) ++summary_.integer_operators[node.op_type()];
    if (is_one_of(node, block_operators)) add_block(node);
  }
  QuantizationSummary result() && { return std::move(summary_); }

 private:
  void add_dequantize(const NodeProto& node, const GraphIndex& index) {
    ++summary_.dequantize;
    if (node.input_size() < 2) return;
    const TensorProto* weight = index.constant(node.input(0));
    const NodeProto* quantizer = index.producer(node.input(0));
    if (quantizer && quantizer->op_type() != "QuantizeLinear") quantizer = nullptr;
    const bool quantizes_weight =
        quantizer && quantizer->input_size() > 0 && index.constant(quantizer->input(0));
    if (weight || quantizes_weight)
      count_granularity(node, index);
    else if (quantizer)
      ++summary_.activation_pairs;
    count_type(node, weight, index);
  }

  void count_granularity(const NodeProto& node, const GraphIndex& index) {
    const TensorProto* scale = index.constant(node.input(1));
    const std::int64_t scales =
        scale ? element_count(Shape(scale->dims().begin(), scale->dims().end())) : 1;
    if (attribute_int(node, "block_size", 0) > 0)
      ++summary_.weights_blockwise;
    else if (scales > 1)
      ++summary_.weights_per_channel;
    else
      ++summary_.weights_per_tensor;
  }

  // The type of the weight, else of the zero point; uint8, the default of QuantizeLinear, if there
  // is neither.
  void count_type(const NodeProto& node, const TensorProto* weight, const GraphIndex& index) {
    const TensorProto* zero_point = node.input_size() > 2 ? index.constant(node.input(2)) : nullptr;
    if (!weight) weight = zero_point;
    ++summary_.types[weight ? onnx_type_name(weight->data_type()) : "uint8"];
  }

  void add_block(const NodeProto& node) {
    const BlockQuantized kind{.op_type = node.op_type(),
                              .bits = attribute_int(node, "bits", 4),
                              .block_size = attribute_int(node, "block_size", 128)};
    auto found = std::ranges::find_if(summary_.block_quantized, [&](const BlockQuantized& known) {
      return known.op_type == kind.op_type && known.bits == kind.bits &&
             known.block_size == kind.block_size;
    });
    if (found == summary_.block_quantized.end())
      found = summary_.block_quantized.insert(found, kind);
    ++found->nodes;
  }

  QuantizationSummary summary_;
};

}  // namespace

QuantizationSummary summarize_quantization(const Model& model) {
  const ModelIndex index(model);
  QuantizationCounter counter;
  for (const GraphIndex& graph : index.graphs())
    for (const NodeProto& node : graph.graph().node()) counter.add(node, graph);
  return std::move(counter).result();
}

bool is_quantized(const QuantizationSummary& summary) { return summary != QuantizationSummary{}; }

}  // namespace vernier
