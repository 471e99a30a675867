#include "vernier/analysis/layers/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "vernier/analysis/evidence/gelu.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using Fact = LayerEvidence::Fact;

// Empty if the attribute is unset.
std::vector<std::string> attribute_value(const AttributeProto* attribute) {
  if (!attribute) return {};
  return {attribute_text(*attribute)};
}

// Makes the node that writes the tensor read a new constant at `input`.
void set_operand(Model& model, const std::string& tensor, int input, const Tensor& value) {
  NodeProto* node = find_writer(model.graph(), tensor);
  if (!node) return;
  TensorProto stored = make_tensor_proto(value);
  stored.set_name("vernier.corrected:" + tensor);
  node->set_input(input, stored.name());
  *model.graph().add_initializer() = std::move(stored);
}

// A large value may be stored in the reference's file.
std::optional<AttributeProto> own_copy(const AttributeProto* attribute, const Model& model) {
  if (!attribute) return std::nullopt;
  AttributeProto copied = *attribute;
  if (attribute->has_t()) *copied.mutable_t() = make_tensor_proto(model.view(attribute->t()));
  return copied;
}

void add_differences(std::vector<OtherAttribute>& found, const NodeProto& reference,
                     const NodeProto& candidate, const Model& reference_model) {
  std::set<std::string> names;
  for (const auto& [one, other] : {std::pair(&reference, &candidate), {&candidate, &reference}})
    for (const AttributeProto& set : one->attribute()) {
      const AttributeProto* counterpart = attribute(*other, set.name());
      if (counterpart && counterpart->SerializeAsString() == set.SerializeAsString()) continue;
      if (!names.insert(set.name()).second) continue;
      const AttributeProto* expected = attribute(reference, set.name());
      found.push_back({.evidence = {.fact = Fact::other_attribute,
                                    .node = node_label(candidate),
                                    .name = set.name(),
                                    .reference = attribute_value(expected),
                                    .candidate = attribute_value(attribute(candidate, set.name()))},
                       .correct = [tensor = candidate.output(0), name = set.name(),
                                   value = own_copy(expected, reference_model)](Model& model) {
                         set_attribute(model, tensor, name, value);
                       }});
    }
}

// Unordered: operands may be swapped.
std::multiset<std::string> constants_of(const Region& region) {
  std::multiset<std::string> constants;
  for (const NodeProto* node : region.nodes)
    if (is_op(*node, "Constant") && node->attribute_size() > 0) {
      AttributeProto value = node->attribute(0);
      value.mutable_t()->clear_name();
      constants.insert(value.SerializeAsString());
    }
  return constants;
}

// A number that an operator is set to: an attribute, or a constant operand.
struct SetNumber {
  double value = 0;
  std::string attribute;
  int operand = -1;
};

// The value of a scalar constant that the node reads; nullopt if it reads none there.
std::optional<SetNumber> number_read(const NodeProto& node, int input, const Region& region) {
  const WeightSource source = region.graph->weight_source(input_name(node, input));
  if (!source || source.dequantize || element_count(shape_of(*source.stored)) != 1)
    return std::nullopt;
  return SetNumber{.value = to_f64(region.graph->index().model().view(*source.stored))[0],
                   .operand = input};
}

// Operators whose epsilon is 1e-5 if the attribute is unset.
bool has_default_epsilon(const NodeProto& node) {
  return is_op(node, "LayerNormalization") || is_op(node, "BatchNormalization") ||
         is_op(node, "InstanceNormalization") || is_op(node, "GroupNormalization");
}

// The epsilon of a normalisation, also of a decomposed one: a constant added before a Sqrt.
std::optional<SetNumber> epsilon_of(const NodeProto& node, const Region& region) {
  if (const auto* set = attribute(node, "epsilon"))
    return SetNumber{.value = set->f(), .attribute = "epsilon"};
  if (has_default_epsilon(node)) return SetNumber{.value = 1e-5F, .attribute = "epsilon"};
  if (!is_op(node, "Add")) return std::nullopt;
  const bool before_root = std::ranges::any_of(region.nodes, [&](const NodeProto* reader) {
    return is_op(*reader, "Sqrt") && reader->input(0) == node.output(0);
  });
  if (!before_root) return std::nullopt;
  const auto second = number_read(node, 1, region);
  return second ? second : number_read(node, 0, region);
}

// A constant of a PyTorch module that an operator has as an attribute or as a constant operand.
struct ModuleNumber {
  const char* constant;
  const char* op;
  const char* attribute;  // null: an operand
  float otherwise;        // the attribute's default
  int operand;
};
constexpr std::array<ModuleNumber, 7> module_numbers = {
    {{"negative_slope", "LeakyRelu", "alpha", 0.01F, -1},
     {"alpha", "Elu", "alpha", 1, -1},
     {"alpha", "Celu", "alpha", 1, -1},
     {"min_val", "Clip", nullptr, 0, 1},
     {"max_val", "Clip", nullptr, 0, 2},
     {"lambd", "Shrink", "lambd", 0.5F, -1},
     {"alpha", "ThresholdedRelu", "alpha", 1, -1}}};

std::optional<SetNumber> number_of(const NodeProto& node, const ModuleNumber& number,
                                   const Region& region) {
  if (!is_op(node, number.op)) return std::nullopt;
  if (!number.attribute) return number_read(node, number.operand, region);
  return SetNumber{.value = attribute_float(node, number.attribute, number.otherwise),
                   .attribute = number.attribute};
}

bool same_in_float32(double left, double right) {
  return std::fabs(left - right) <= 1e-6 * std::max(std::fabs(left), std::fabs(right));
}

void set_number(Model& model, const std::string& tensor, const SetNumber& place, double value,
                const Tensor& operand) {
  if (place.operand >= 0) return set_operand(model, tensor, place.operand, operand);
  AttributeProto attribute;
  attribute.set_name(place.attribute);
  attribute.set_type(AttributeProto::FLOAT);
  attribute.set_f(static_cast<float>(value));
  set_attribute(model, tensor, place.attribute, attribute);
}

// The value in the type and shape of the constant that it replaces.
Tensor as_operand(const NodeProto& node, const SetNumber& place, double value,
                  const Region& region) {
  if (place.operand < 0) return {};
  const TensorProto& stored = *region.graph->weight_source(input_name(node, place.operand)).stored;
  const WeightView view = region.graph->index().model().view(stored);
  Tensor number = make_tensor("", DType::f64, shape_of(stored));
  elements<double>(number)[0] = value;
  return convert(number, view.dtype);
}

// Scalar constants that nodes in the same place read as the same operand.
void add_operands(std::vector<OtherAttribute>& found, const Region& reference,
                  const NodeProto& expected, const Region& candidate, const NodeProto& node) {
  for (int i = 0; i < std::min(expected.input_size(), node.input_size()); ++i) {
    const auto wanted = number_read(expected, i, reference),
               given = number_read(node, i, candidate);
    if (!wanted || !given || same_in_float32(wanted->value, given->value)) continue;
    found.push_back({.evidence = {.fact = Fact::other_attribute,
                                  .node = node_label(node),
                                  .name = fmt::format("operand {}", i),
                                  .reference = {fmt::format("{:g}", wanted->value)},
                                  .candidate = {fmt::format("{:g}", given->value)}},
                     .correct = [tensor = node.output(0), i,
                                 operand = as_operand(node, *given, wanted->value, candidate)](
                                    Model& model) { set_operand(model, tensor, i, operand); }});
  }
}

void add_number(std::vector<OtherAttribute>& found, const Region& region, const NodeProto& node,
                const WatchedTensor& leaf, const std::string& constant,
                const std::optional<SetNumber>& set) {
  const auto expected = leaf.constants.find(constant);
  if (!set || expected == leaf.constants.end() || same_in_float32(set->value, expected->second))
    return;
  found.push_back(
      {.evidence = {.fact = Fact::other_attribute,
                    .node = node_label(node),
                    .name = constant,
                    .reference = {fmt::format("{:g}", expected->second)},
                    .candidate = {fmt::format("{:g}", set->value)}},
       .correct = [tensor = node.output(0), place = *set, value = expected->second,
                   operand = as_operand(node, *set, expected->second, region)](Model& model) {
         set_number(model, tensor, place, value, operand);
       }});
}

// PyTorch's LayerNorm has a scale for each normalised element.
void add_axis(std::vector<OtherAttribute>& found, const Region& region, const NodeProto& node,
              const WatchedTensor& leaf) {
  if (leaf.type != "LayerNorm" || !is_op(node, "LayerNormalization")) return;
  const WeightSource factors = region.graph->weight_source(input_name(node, 1));
  const std::int64_t axis = attribute_int(node, "axis", -1);
  const std::int64_t expected = factors ? -std::ssize(shape_of(*factors.stored)) : axis;
  if (axis >= 0 || axis == expected) return;
  found.push_back({.evidence = {.fact = Fact::other_attribute,
                                .node = node_label(node),
                                .name = "axis",
                                .reference = {fmt::format("{}", expected)},
                                .candidate = {fmt::format("{}", axis)}},
                   .correct = [tensor = node.output(0), expected](Model& model) {
                     AttributeProto attribute;
                     attribute.set_name("axis");
                     attribute.set_type(AttributeProto::INT);
                     attribute.set_i(expected);
                     set_attribute(model, tensor, "axis", attribute);
                   }});
}

// Makes ONNX Runtime's own operator of that form write the tensor.
void set_gelu(Model& model, const std::string& tensor, const std::string& input, GeluForm form) {
  constexpr const char* domain = "com.microsoft";
  NodeProto* node = find_writer(model.graph(), tensor);
  if (!node) return;
  node->set_op_type(form == GeluForm::tanh ? "FastGelu" : "Gelu");
  node->set_domain(domain);
  node->clear_attribute();
  node->mutable_input()->Clear();
  node->add_input(input);
  auto& imports = *model.proto().mutable_opset_import();
  if (std::ranges::find(imports, domain, &vernier_onnx::OperatorSetIdProto::domain) !=
      imports.end())
    return;
  auto& import = *imports.Add();
  import.set_domain(domain);
  import.set_version(1);
}

// The other form of GELU, if the region computes nothing else.
void add_gelu_form(std::vector<OtherAttribute>& found, const Region& region,
                   const WatchedTensor& leaf) {
  const auto approximate = leaf.constants.find("approximate");
  if (approximate == leaf.constants.end() || region.sources.size() != 1) return;
  const GeluForm expected = approximate->second != 0 ? GeluForm::tanh : GeluForm::exact;
  for (const FoundGelu& gelu : find_gelus(*region.graph)) {
    if (gelu.form == expected || std::ranges::find(region.nodes, gelu.node) == region.nodes.end())
      continue;
    found.push_back(
        {.evidence = {.fact = Fact::other_attribute,
                      .node = node_label(*gelu.node),
                      .name = "approximate",
                      .reference = {gelu_form_name(expected)},
                      .candidate = {gelu_form_name(gelu.form)}},
         .correct = [tensor = region.nodes.front()->output(0), input = region.sources.front(),
                     expected](Model& model) { set_gelu(model, tensor, input, expected); }});
  }
}

}  // namespace

NodeProto* find_writer(GraphProto& graph, const std::string& tensor) {
  for (NodeProto& node : *graph.mutable_node()) {
    if (std::ranges::find(node.output(), tensor) != node.output().end()) return &node;
    for (AttributeProto& attribute : *node.mutable_attribute())
      if (attribute.has_g())
        if (NodeProto* inner = find_writer(*attribute.mutable_g(), tensor)) return inner;
  }
  return nullptr;
}

void set_attribute(Model& model, const std::string& tensor, const std::string& name,
                   const std::optional<AttributeProto>& value) {
  NodeProto* node = find_writer(model.graph(), tensor);
  if (!node) return;
  auto& attributes = *node->mutable_attribute();
  if (const auto old = std::ranges::find(attributes, name, &AttributeProto::name);
      old != attributes.end())
    attributes.erase(old);
  if (value) attributes.Add()->CopyFrom(*value);
}

std::string attribute_text(const AttributeProto& attribute) {
  switch (attribute.type()) {
    case AttributeProto::FLOAT: return fmt::format("{:g}", attribute.f());
    case AttributeProto::INT: return fmt::format("{}", attribute.i());
    case AttributeProto::STRING: return attribute.s();
    case AttributeProto::INTS: return fmt::format("[{}]", fmt::join(attribute.ints(), ","));
    default: return "a value that is not shown";
  }
}

std::vector<OtherAttribute> differing_attributes(const Region& reference, const Region& candidate) {
  std::vector<OtherAttribute> found;
  if (reference.nodes.size() != candidate.nodes.size()) return found;
  const bool same_constants = constants_of(reference) == constants_of(candidate);
  for (std::size_t i = 0; i < reference.nodes.size(); ++i) {
    if (reference.nodes[i]->op_type() != candidate.nodes[i]->op_type()) break;
    if (same_constants && is_op(*reference.nodes[i], "Constant")) continue;
    add_differences(found, *reference.nodes[i], *candidate.nodes[i],
                    reference.graph->index().model());
    add_operands(found, reference, *reference.nodes[i], candidate, *candidate.nodes[i]);
  }
  return found;
}

std::vector<OtherAttribute> differing_constants(const Region& region, const WatchedTensor& leaf) {
  std::vector<OtherAttribute> found;
  for (const NodeProto* node : region.nodes) {
    add_number(found, region, *node, leaf, "eps", epsilon_of(*node, region));
    for (const ModuleNumber& number : module_numbers)
      add_number(found, region, *node, leaf, number.constant, number_of(*node, number, region));
    add_axis(found, region, *node, leaf);
  }
  add_gelu_form(found, region, leaf);
  return found;
}

}  // namespace vernier
