#include "vernier/model/summary.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <limits>
#include <map>

#include "vernier/model/graph.h"
#include "vernier/model/input_kind.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/precision.h"
#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;
using vernier_onnx::TensorProto;

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
    const std::int64_t elements = element_count(Shape(tensor.dims().begin(), tensor.dims().end()));
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

std::int64_t add_sizes(std::int64_t left, std::int64_t right) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(left, right, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

ModelSummary summarize(const Model& model) {
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
  summary.quantization = summarize_quantization(model);
  summary.functions = summarize_functions(model, summary.operators);
  summary.index_lengths = index_lengths(model);
  return summary;
}

}  // namespace vernier
