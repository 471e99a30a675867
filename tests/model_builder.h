#pragma once

#include <vernier_onnx.pb.h>

#include <string>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/tensor_data.h"

namespace vernier {

inline vernier_onnx::AttributeProto int_attribute(const std::string& name, std::int64_t value) {
  vernier_onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(vernier_onnx::AttributeProto::INT);
  attribute.set_i(value);
  return attribute;
}

inline vernier_onnx::AttributeProto graph_attribute(const std::string& name,
                                                    vernier_onnx::GraphProto graph) {
  vernier_onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(vernier_onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = std::move(graph);
  return attribute;
}

inline vernier_onnx::AttributeProto tensor_attribute(const std::string& name,
                                                     const Tensor& tensor) {
  vernier_onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(vernier_onnx::AttributeProto::TENSOR);
  *attribute.mutable_t() = make_tensor_proto(tensor);
  return attribute;
}

template <typename T>
Tensor tensor_of(std::string name, DType dtype, Shape shape, const std::vector<T>& values) {
  Tensor tensor = make_tensor(std::move(name), dtype, std::move(shape));
  std::ranges::copy(values, elements<T>(tensor).begin());
  return tensor;
}

// Builds graphs for tests, node by node.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name = "graph") { graph_.set_name(std::move(name)); }

  GraphBuilder& input(const std::string& name, DType dtype, const std::vector<Dim>& shape) {
    describe(*graph_.add_input(), name, dtype, shape);
    return *this;
  }
  GraphBuilder& output(const std::string& name, DType dtype, const std::vector<Dim>& shape) {
    describe(*graph_.add_output(), name, dtype, shape);
    return *this;
  }
  // An output whose type is left to inference.
  GraphBuilder& output(const std::string& name) {
    graph_.add_output()->set_name(name);
    return *this;
  }
  GraphBuilder& weight(const Tensor& tensor) {
    *graph_.add_initializer() = make_tensor_proto(tensor);
    return *this;
  }
  GraphBuilder& node(const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs,
                     const std::vector<vernier_onnx::AttributeProto>& attributes = {},
                     const std::string& domain = "") {
    vernier_onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(op);
    node.set_domain(domain);
    node.set_name("node_" + std::to_string(graph_.node_size()));
    for (const auto& name : inputs) node.add_input(name);
    for (const auto& name : outputs) node.add_output(name);
    for (const auto& attribute : attributes) *node.add_attribute() = attribute;
    return *this;
  }
  vernier_onnx::GraphProto& graph() { return graph_; }
  operator vernier_onnx::GraphProto() const { return graph_; }

  vernier_onnx::ModelProto proto(std::int64_t opset = 17, std::int64_t ir_version = 8) const {
    vernier_onnx::ModelProto proto;
    proto.set_ir_version(ir_version);
    proto.add_opset_import()->set_version(opset);
    *proto.mutable_graph() = graph_;
    return proto;
  }
  Model model(std::int64_t opset = 17, std::int64_t ir_version = 8) const {
    return Model(proto(opset, ir_version), {}, "built.onnx");
  }

 private:
  static void describe(vernier_onnx::ValueInfoProto& value, const std::string& name, DType dtype,
                       const std::vector<Dim>& shape) {
    value.set_name(name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx_data_type(dtype));
    auto& dims = *type.mutable_shape();
    for (const Dim& dim : shape) {
      auto& added = *dims.add_dim();
      if (!dim.is_dynamic())
        added.set_dim_value(dim.size);
      else if (!dim.symbol.empty())
        added.set_dim_param(dim.symbol);
    }
  }

  vernier_onnx::GraphProto graph_;
};

}  // namespace vernier
