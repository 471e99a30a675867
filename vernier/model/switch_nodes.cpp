#include "vernier/model/switch_nodes.h"

#include <vernier_onnx.pb.h>

#include <cmath>

namespace vernier {
namespace {

using vernier_onnx::AttributeProto;
using vernier_onnx::NodeProto;

AttributeProto& add_attribute(NodeProto& node, std::string_view name,
                              AttributeProto::AttributeType type) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(std::string(name));
  attribute.set_type(type);
  return attribute;
}

NodeProto make_node(std::string_view op, const std::vector<std::size_t>& switches, SwitchRole role,
                    const std::optional<RealRange>& folded, const std::string& output) {
  NodeProto node;
  node.set_name("vernier.switch:" + output);
  node.set_domain(std::string(switch_domain));
  node.set_op_type(std::string(op));
  node.add_output(output);
  AttributeProto& indices = add_attribute(node, switch_attribute, AttributeProto::INTS);
  for (const std::size_t index : switches) indices.add_ints(static_cast<std::int64_t>(index));
  add_attribute(node, role_attribute, AttributeProto::INT).set_i(static_cast<int>(role));
  add_attribute(node, clip_low_attribute, AttributeProto::FLOAT)
      .set_f(folded ? static_cast<float>(folded->low) : -INFINITY);
  add_attribute(node, clip_high_attribute, AttributeProto::FLOAT)
      .set_f(folded ? static_cast<float>(folded->high) : INFINITY);
  return node;
}

std::string_view choice_of(DType dtype) {
  if (dtype == DType::f16) return choice_f16_op;
  return dtype == DType::bf16 ? choice_bf16_op : choice_op;
}

}  // namespace

SwitchRole role_of(Switch::Kind kind) {
  return kind == Switch::Kind::weight ? SwitchRole::weight : SwitchRole::activation;
}

NodeProto switch_node(const SwitchPlace& place, const std::string& real,
                      const std::string& output) {
  NodeProto node = make_node(switch_op, {place.index}, place.role, place.folded, output);
  node.add_input(real);
  return node;
}

NodeProto choice_node(const SwitchPlace& place, const std::string& real,
                      const std::string& quantized, const std::string& output, DType dtype) {
  NodeProto node = make_node(choice_of(dtype), {place.index}, place.role, place.folded, output);
  node.add_input(real);
  node.add_input(quantized);
  return node;
}

NodeProto selector_node(const std::vector<std::size_t>& switches, const std::string& real,
                        const std::string& quantized, const std::string& output, DType dtype) {
  if (switches.empty()) {
    NodeProto node;
    node.set_op_type("Identity");
    node.add_input(quantized);
    node.add_output(output);
    return node;
  }
  NodeProto node = make_node(choice_of(dtype), switches, SwitchRole::selector, {}, output);
  node.add_input(real);
  node.add_input(quantized);
  return node;
}

void import_switch_domain(vernier_onnx::ModelProto& model) {
  auto& imported = *model.add_opset_import();
  imported.set_domain(std::string(switch_domain));
  imported.set_version(1);
}

}  // namespace vernier
