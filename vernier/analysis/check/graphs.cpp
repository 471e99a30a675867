#include "vernier/analysis/check/graphs.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include "vernier/error.h"
#include "vernier/model/onnx_type.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using vernier_onnx::AttributeProto;
using vernier_onnx::NodeProto;
using vernier_onnx::TensorProto;

std::string in_subgraph(const Body& subgraph, const std::string& name) {
  return subgraph.path.empty() ? name : subgraph.path + "/" + name;
}

template <typename T, typename Values>
Tensor tensor_of_values(DType dtype, Shape shape, const Values& values) {
  Tensor tensor = make_tensor("", dtype, std::move(shape));
  std::ranges::copy(values, elements<T>(tensor).begin());
  return tensor;
}

// What a Constant node says without a tensor.
std::optional<Tensor> attribute_value(const NodeProto& node) {
  if (const AttributeProto* value = attribute(node, "value_float"))
    return tensor_of_values<float>(DType::f32, {}, std::vector<float>{value->f()});
  if (const AttributeProto* value = attribute(node, "value_int"))
    return tensor_of_values<std::int64_t>(DType::i64, {}, std::vector<std::int64_t>{value->i()});
  if (const AttributeProto* value = attribute(node, "value_floats"))
    return tensor_of_values<float>(DType::f32, {value->floats_size()}, value->floats());
  if (const AttributeProto* value = attribute(node, "value_ints"))
    return tensor_of_values<std::int64_t>(DType::i64, {value->ints_size()}, value->ints());
  return std::nullopt;
}

}  // namespace

Graphs::Graphs(const Model& of_model) : model(of_model), dtypes_(infer_dtypes(of_model.graph())) {
  for (const Subgraph& subgraph : all_subgraphs(model.graph())) {
    const GraphIndex* outer = subgraph.outer < 0 ? nullptr : &indexes_[subgraph.outer];
    indexes_.emplace_back(*subgraph.graph, outer);
    subgraphs.push_back({subgraph.graph, subgraph.owner, subgraph.path, &indexes_.back(),
                         &dtypes_.at(subgraph.graph)});
  }
}

Subject node_subject(const Body& subgraph, const NodeProto& node) {
  return {SubjectKind::node, in_subgraph(subgraph, node_label(node))};
}

Subject tensor_subject(const Body& subgraph, const std::string& tensor) {
  return {SubjectKind::tensor, in_subgraph(subgraph, tensor)};
}

std::string input_name(const NodeProto& node, int index) {
  return index < node.input_size() ? node.input(index) : std::string();
}

std::optional<DType> dtype_of(const Body& subgraph, const std::string& tensor) {
  const auto found = subgraph.dtypes->find(tensor);
  return found == subgraph.dtypes->end() ? std::nullopt : std::optional(found->second);
}

const TensorProto* constant_proto(const Body& subgraph, const std::string& tensor) {
  if (tensor.empty()) return nullptr;
  if (const TensorProto* weight = subgraph.index->initializer(tensor)) return weight;
  const NodeProto* node = subgraph.index->producer(tensor);
  if (!node || !is_op(*node, "Constant")) return nullptr;
  const AttributeProto* value = attribute(*node, "value");
  return value && value->has_t() ? &value->t() : nullptr;
}

std::optional<Tensor> constant_value(const Graphs& graphs, const Body& subgraph,
                                     const std::string& tensor) {
  if (const TensorProto* proto = constant_proto(subgraph, tensor)) {
    try {
      return graphs.model.tensor(*proto);
    } catch (const Error&) {
      return std::nullopt;  // reported where external data is looked at
    }
  }
  const NodeProto* node = tensor.empty() ? nullptr : subgraph.index->producer(tensor);
  return node && is_op(*node, "Constant") ? attribute_value(*node) : std::nullopt;
}

std::optional<std::vector<double>> constant_numbers(const Graphs& graphs, const Body& subgraph,
                                                    const std::string& tensor) {
  const std::optional<Tensor> value = constant_value(graphs, subgraph, tensor);
  return value ? std::optional(to_f64(*value)) : std::nullopt;
}

std::optional<double> constant_number(const Graphs& graphs, const Body& subgraph,
                                      const std::string& tensor) {
  if (const TensorProto* proto = constant_proto(subgraph, tensor))
    if (checked_element_count(Shape(proto->dims().begin(), proto->dims().end())) != 1)
      return std::nullopt;
  const auto numbers = constant_numbers(graphs, subgraph, tensor);
  return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
}

std::optional<Shape> declared_shape(const Body& subgraph, const std::string& tensor) {
  if (const TensorProto* proto = constant_proto(subgraph, tensor))
    return Shape(proto->dims().begin(), proto->dims().end());
  const auto* info = subgraph.index->value_info(tensor);
  if (!info || !info->type().tensor_type().has_shape()) return std::nullopt;
  Shape shape;
  for (const auto& dim : info->type().tensor_type().shape().dim())
    shape.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  return shape;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace vernier
