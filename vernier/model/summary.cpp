#include "vernier/model/summary.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <limits>

#include "vernier/model/graph.h"
#include "vernier/model/index.h"
#include "vernier/model/input_kind.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/precision.h"
#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

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
    const std::int64_t scales = scale ? element_count(dims_of(*scale)) : 1;
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

std::string domain_name(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

class SummaryBuilder {
 public:
  explicit SummaryBuilder(const Model& model) : model_(model) {}

  void add_graph(const Subgraph& subgraph) {
    depths_.push_back(subgraph.outer < 0 ? 0 : depths_[subgraph.outer] + 1);
    for (const TensorProto& tensor : subgraph.graph->initializer()) add_weight(tensor);
    for (const NodeProto& node : subgraph.graph->node()) add_node(node);
    if (subgraph.owner)
      summary_.subgraphs.push_back(
          {subgraph.path, subgraph.owner->op_type(), subgraph.graph->node_size(), depths_.back()});
  }

  ModelSummary result() && {
    for (auto& [key, count] : operators_)
      summary_.operators.push_back({key.first, key.second, count});
    std::ranges::stable_sort(summary_.operators, std::greater{}, &OperatorCount::count);
    for (auto& [dtype, total] : weights_) summary_.weights.push_back(total);
    std::ranges::stable_sort(summary_.weights, std::greater{}, &WeightTotal::bytes);
    for (auto& [location, file] : files_) summary_.external_files.push_back(file);
    return std::move(summary_);
  }

 private:
  void add_weight(const TensorProto& tensor) {
    const std::string dtype = onnx_type_name(tensor.data_type());
    const std::int64_t elements = element_count(dims_of(tensor));
    const std::int64_t bytes = weight_bytes(tensor);
    WeightTotal& total = weights_[dtype];
    total = {dtype, total.tensors + 1, add_sizes(total.elements, elements),
             add_sizes(total.bytes, bytes)};
    if (!has_external_data(tensor) || model_.is_inside(tensor)) return;
    const std::string location = external_data(tensor).location;
    ExternalFile& file = files_[location];
    file = {location, file.tensors + 1, add_sizes(file.bytes, bytes)};
  }

  void add_node(const NodeProto& node) {
    ++summary_.nodes;
    ++operators_[{domain_name(node.domain()), node.op_type()}];
    if (is_op(node, "Constant"))
      if (const auto* value = attribute(node, "value")) add_weight(value->t());
  }

  const Model& model_;
  ModelSummary summary_;
  std::vector<int> depths_;  // of the graphs added
  std::map<std::pair<std::string, std::string>, std::int64_t> operators_;
  std::map<std::string, WeightTotal> weights_;
  std::map<std::string, ExternalFile> files_;
};

std::vector<FunctionSummary> summarize_functions(const Model& model,
                                                 const std::vector<OperatorCount>& operators) {
  std::vector<FunctionSummary> functions;
  for (const auto& function : model.proto().functions()) {
    FunctionSummary summary{domain_name(function.domain()), function.name(), function.node_size()};
    for (const OperatorCount& counted : operators)
      if (counted.op_type == summary.name && counted.domain == summary.domain)
        summary.calls = counted.count;
    functions.push_back(std::move(summary));
  }
  return functions;
}

}  // namespace

QuantizationSummary summarize_quantization(const ModelIndex& index) {
  QuantizationCounter counter;
  for (const GraphIndex& graph : index.graphs())
    for (const NodeProto& node : graph.graph().node()) counter.add(node, graph);
  return std::move(counter).result();
}

bool is_quantized(const QuantizationSummary& summary) { return summary != QuantizationSummary{}; }

std::int64_t add_sizes(std::int64_t left, std::int64_t right) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(left, right, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

ModelSummary summarize(const ModelIndex& index) {
  const Model& model = index.model();
  SummaryBuilder builder(model);
  for (const Subgraph& subgraph : all_subgraphs(model.graph())) builder.add_graph(subgraph);
  ModelSummary summary = std::move(builder).result();
  const auto& proto = model.proto();
  summary.ir_version = proto.ir_version();
  summary.producer = proto.producer_name();
  if (!proto.producer_version().empty()) summary.producer += " " + proto.producer_version();
  for (const auto& import : proto.opset_import())
    summary.opsets.push_back({domain_name(import.domain()), import.version()});
  summary.precision = precision_name(model);
  summary.quantization = summarize_quantization(index);
  summary.functions = summarize_functions(model, summary.operators);
  summary.index_lengths = index_lengths(model);
  return summary;
}

}  // namespace vernier
