#include "vernier/analysis/quantize/graph_writer.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <deque>

#include "vernier/model/graph.h"
#include "vernier/model/make_node.h"
#include "vernier/model/tensor_data.h"

namespace vernier {

struct GraphWriter::Inserted {
  int before = 0;
  std::unique_ptr<NodeProto> node;
};

namespace {

constexpr const char* microsoft = "com.microsoft";

std::unordered_set<std::string> names_in(const GraphProto& graph) {
  std::unordered_set<std::string> names;
  for (const Subgraph& subgraph : all_subgraphs(graph)) {
    for (const auto& tensor : subgraph.graph->initializer()) names.insert(tensor.name());
    for (const auto& input : subgraph.graph->input()) names.insert(input.name());
    for (const auto& node : subgraph.graph->node()) {
      names.insert(node.name());
      names.insert(node.output().begin(), node.output().end());
    }
  }
  return names;
}

std::unordered_set<std::string> names_read(const GraphProto& graph) {
  std::unordered_set<std::string> read;
  for (const Subgraph& subgraph : all_subgraphs(graph)) {
    for (const auto& output : subgraph.graph->output()) read.insert(output.name());
    for (const NodeProto& node : subgraph.graph->node())
      read.insert(node.input().begin(), node.input().end());
  }
  return read;
}

void drop_unread_constants(GraphProto& graph) {
  const auto read = names_read(graph);
  auto& nodes = *graph.mutable_node();
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                             [&](const NodeProto& node) {
                               return is_op(node, "Constant") && !read.contains(node.output(0));
                             }),
              nodes.end());
  auto& weights = *graph.mutable_initializer();
  std::unordered_set<std::string> dropped;
  for (const TensorProto& weight : weights)
    if (!read.contains(weight.name())) dropped.insert(weight.name());
  weights.erase(
      std::remove_if(weights.begin(), weights.end(),
                     [&](const TensorProto& weight) { return dropped.contains(weight.name()); }),
      weights.end());
  // Before IR version 4 every initializer is also a graph input.
  auto& inputs = *graph.mutable_input();
  inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                              [&](const auto& input) { return dropped.contains(input.name()); }),
               inputs.end());
}

}  // namespace

GraphWriter::GraphWriter(Model model)
    : model_(std::move(model)), names_(names_in(model_.graph())) {}
GraphWriter::~GraphWriter() = default;
GraphWriter::GraphWriter(GraphWriter&&) noexcept = default;

NodeProto& GraphWriter::node(int number) { return *model_.graph().mutable_node(number); }

std::string GraphWriter::fresh_name(const std::string& stem) {
  std::string name = stem;
  for (int i = 1; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
  return name;
}

std::string GraphWriter::add_constant(const std::string& stem, Tensor tensor) {
  tensor.name = fresh_name(stem);
  *model_.graph().add_initializer() = make_tensor_proto(tensor);
  return tensor.name;
}

NodeProto& GraphWriter::insert_before(int number, const std::string& op,
                                      const std::vector<std::string>& inputs,
                                      const std::vector<std::string>& outputs,
                                      const std::string& domain) {
  auto node = std::make_unique<NodeProto>();
  node->set_name(fresh_name(fmt::format("{}_{}", outputs.front(), op)));
  node->set_op_type(op);
  node->set_domain(domain);
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& output : outputs) node->add_output(output);
  if (!domain.empty()) import_domain(domain, 1);
  inserted_.push_back({number, std::move(node)});
  return *inserted_.back().node;
}

void GraphWriter::import_domain(const std::string& domain, std::int64_t version) {
  if (model_.opset(domain) > 0) return;
  auto& import = *model_.proto().add_opset_import();
  import.set_domain(domain);
  import.set_version(version);
}

void GraphWriter::drop(int number) { dropped_.insert(number); }

// ONNX has the axis from opset 13 on, and 16 and 4 bits from opset 21 on. ONNX Runtime's contrib
// operators of the same names have both in every version.
std::string GraphWriter::quantizer_domain(const Quantizer& quantizer) const {
  const bool wide = bits(quantizer.dtype) != 8 && quantizer.dtype != DType::i32;
  return model_.opset() >= (wide ? 21 : 13) ? "" : microsoft;
}

std::string GraphWriter::dequantized(int before, const std::string& stem, Tensor stored,
                                     const Quantizer& quantizer) {
  const std::string name = add_constant(stem + "_quantized", std::move(stored));
  const std::string scale = add_constant(stem + "_scale", quantizer.scale);
  std::vector<std::string> inputs = {name, scale};
  if (quantizer.zero_point)
    inputs.push_back(add_constant(stem + "_zero_point", *quantizer.zero_point));
  const std::string output = fresh_name(stem + "_DequantizeLinear_Output");
  NodeProto& node =
      insert_before(before, "DequantizeLinear", inputs, {output}, quantizer_domain(quantizer));
  if (granularity(quantizer) != Granularity::per_tensor || !quantizer.scale.shape.empty())
    add_int(node, "axis", quantizer.axis);
  return output;
}

Model GraphWriter::finish() {
  GraphProto& graph = model_.graph();
  std::ranges::stable_sort(inserted_, {}, &Inserted::before);
  std::deque<NodeProto> nodes;
  auto inserted = inserted_.begin();
  for (int i = 0; i <= graph.node_size(); ++i) {
    for (; inserted != inserted_.end() && inserted->before == i; ++inserted)
      nodes.push_back(std::move(*inserted->node));
    if (i < graph.node_size() && !dropped_.contains(i))
      nodes.push_back(std::move(*graph.mutable_node(i)));
  }
  graph.clear_node();
  for (NodeProto& node : nodes) *graph.add_node() = std::move(node);
  drop_unread_constants(graph);
  return std::move(model_);
}

}  // namespace vernier
