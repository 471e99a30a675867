#include "vernier/model/switch_nodes.h"

#include <vernier_onnx.pb.h>

#include <cmath>

#include "vernier/model/make_node.h"

namespace vernier {
namespace {

NodeProto place_switch(std::string_view op, const std::vector<std::size_t>& switches,
                       SwitchRole role, const std::optional<RealRange>& folded,
                       const std::vector<std::string>& inputs, const std::string& output) {
  NodeProto node = make_node(op, inputs, output, switch_domain);
  add_ints(node, switch_attribute, {switches.begin(), switches.end()});
  add_int(node, role_attribute, static_cast<int>(role));
  add_float(node, clip_low_attribute, folded ? static_cast<float>(folded->low) : -INFINITY);
  add_float(node, clip_high_attribute, folded ? static_cast<float>(folded->high) : INFINITY);
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
  return place_switch(switch_op, {place.index}, place.role, place.folded, {real}, output);
}

NodeProto choice_node(const SwitchPlace& place, const std::string& real,
                      const std::string& quantized, const std::string& output, DType dtype) {
  return place_switch(choice_of(dtype), {place.index}, place.role, place.folded, {real, quantized},
                      output);
}

NodeProto selector_node(const std::vector<std::size_t>& switches, const std::string& real,
                        const std::string& quantized, const std::string& output, DType dtype) {
  if (switches.empty()) return make_node("Identity", {quantized}, output);
  return place_switch(choice_of(dtype), switches, SwitchRole::selector, {}, {real, quantized},
                      output);
}

void import_switch_domain(ModelProto& model) {
  auto& imported = *model.add_opset_import();
  imported.set_domain(std::string(switch_domain));
  imported.set_version(1);
}

}  // namespace vernier
