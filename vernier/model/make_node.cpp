#include "vernier/model/make_node.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include "vernier/model/onnx_type.h"

namespace vernier {

namespace {

AttributeProto& new_attribute(NodeProto& node, std::string_view name,
                              AttributeProto::AttributeType type) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(type);
  return attribute;
}

}  // namespace

NodeProto make_node(std::string_view op, const std::vector<std::string>& inputs,
                    const std::string& output, std::string_view domain) {
  NodeProto node;
  node.set_name(fmt::format("vernier.{}:{}", op, output));
  node.set_domain(std::string(domain));
  node.set_op_type(std::string(op));
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

NodeProto make_cast(const std::string& tensor, DType dtype, const std::string& output) {
  NodeProto node = make_node("Cast", {tensor}, output);
  add_int(node, "to", onnx_data_type(dtype));
  return node;
}

void add_int(NodeProto& node, std::string_view attribute, std::int64_t value) {
  new_attribute(node, attribute, AttributeProto::INT).set_i(value);
}

void add_ints(NodeProto& node, std::string_view attribute,
              const std::vector<std::int64_t>& values) {
  AttributeProto& list = new_attribute(node, attribute, AttributeProto::INTS);
  for (const std::int64_t value : values) list.add_ints(value);
}

void add_float(NodeProto& node, std::string_view attribute, float value) {
  new_attribute(node, attribute, AttributeProto::FLOAT).set_f(value);
}

void add_string(NodeProto& node, std::string_view attribute, std::string_view value) {
  new_attribute(node, attribute, AttributeProto::STRING).set_s(std::string(value));
}

}  // namespace vernier
