#include "vernier/model/precision.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

constexpr std::array<std::string_view, 15> quantizing_ops = {"QuantizeLinear",
                                                             "DequantizeLinear",
                                                             "DynamicQuantizeLinear",
                                                             "MatMulNBits",
                                                             "MatMulInteger",
                                                             "ConvInteger",
                                                             "DynamicQuantizeMatMul",
                                                             "MatMulIntegerToFloat",
                                                             "DynamicQuantizeLSTM",
                                                             "QAttention",
                                                             "GatherBlockQuantized",
                                                             "QEmbedLayerNormalization",
                                                             "MatMulBnb4",
                                                             "MatMulFpQ4",
                                                             "QMoE"};

// Operators whose attribute `bits` is the width of their weights; 4 if absent.
bool stores_blocks(const NodeProto& node) {
  return is_one_of(node, {"MatMulNBits", "GatherBlockQuantized", "MatMulBnb4", "MatMulFpQ4"});
}

// Calls visit(name, tensor) for every initializer and every Constant: some exporters write all
// weights as Constant nodes.
template <typename Visit>
void visit_weights(const GraphProto& graph, const Visit& visit) {
  for (const auto& tensor : graph.initializer()) visit(tensor.name(), tensor);
  for (const auto& node : graph.node())
    if (const auto* tensor = constant_tensor(node); tensor && node.output_size() > 0)
      visit(node.output(0), *tensor);
}

}  // namespace

std::string_view precision_name(Precision precision) {
  switch (precision) {
    case Precision::fp32: return "fp32";
    case Precision::fp16: return "fp16";
    case Precision::int8: return "int8";
  }
  return "";
}

Precision named_precision(std::string_view name) {
  if (name.empty() || name == "fp32") return Precision::fp32;
  return name == "fp16" ? Precision::fp16 : Precision::int8;
}

bool is_quantizing(const NodeProto& node) {
  return node.op_type().starts_with("QLinear") || node.op_type().starts_with("QGemm") ||
         is_one_of(node, quantizing_ops);
}

Precision precision_of(const Model& model) {
  double half = 0, single = 0;  // the sizes that a file claims may add up to more than 64 bits
  for (const Subgraph& subgraph : all_subgraphs(model.graph())) {
    if (std::ranges::any_of(subgraph.graph->node(), is_quantizing)) return Precision::int8;
    visit_weights(*subgraph.graph, [&](const std::string&, const TensorProto& tensor) {
      const auto type = tensor.data_type();
      const bool is_half = type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16;
      if (is_half || type == TensorProto::FLOAT)
        (is_half ? half : single) += static_cast<double>(element_count(dims_of(tensor)));
    });
  }
  return half > single ? Precision::fp16 : Precision::fp32;
}

std::string_view precision_name(const Model& model) {
  std::int64_t narrow = 0, others = 0;
  for (const Subgraph& subgraph : all_subgraphs(model.graph())) {
    std::set<std::string_view> narrow_weights;
    visit_weights(*subgraph.graph, [&](const std::string& name, const TensorProto& tensor) {
      if (tensor.data_type() == TensorProto::INT4 || tensor.data_type() == TensorProto::UINT4)
        narrow_weights.insert(name);
    });
    for (const auto& node : subgraph.graph->node()) {
      if (!is_quantizing(node)) continue;
      const bool is_narrow = stores_blocks(node) ? attribute_int(node, "bits", 4) == 4
                                                 : narrow_weights.contains(input_name(node, 0));
      ++(is_narrow ? narrow : others);
    }
  }
  return narrow > others ? "int4" : precision_name(precision_of(model));
}

}  // namespace vernier
