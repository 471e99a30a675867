#include "vernier/model/dtypes.h"

#include <vernier_onnx.pb.h>

#include <optional>
#include <string_view>

#include "vernier/model/graph.h"
#include "vernier/model/insert_switches.h"
#include "vernier/model/onnx_type.h"

namespace vernier {
namespace {

using MaybeType = std::optional<DType>;

// Operators whose first output has the same type for any input.
const std::unordered_map<std::string_view, DType> fixed_types = {
    {"Shape", DType::i64},
    {"Size", DType::i64},
    {"NonZero", DType::i64},
    {"ArgMax", DType::i64},
    {"ArgMin", DType::i64},
    {"NonMaxSuppression", DType::i64},
    {"SequenceLength", DType::i64},
    {"Equal", DType::boolean},
    {"Greater", DType::boolean},
    {"GreaterOrEqual", DType::boolean},
    {"Less", DType::boolean},
    {"LessOrEqual", DType::boolean},
    {"And", DType::boolean},
    {"Or", DType::boolean},
    {"Xor", DType::boolean},
    {"Not", DType::boolean},
    {"IsNaN", DType::boolean},
    {"IsInf", DType::boolean},
    {"OptionalHasElement", DType::boolean},
    {"MatMulInteger", DType::i32},
    {"ConvInteger", DType::i32},
    {"DynamicQuantizeLinear", DType::u8},
    {"ImageDecoder", DType::u8},
};

// Operators whose outputs have the type of a later input, mostly of a scale or a zero point.
const std::unordered_map<std::string_view, int> typed_by_input = {{"Where", 1},
                                                                  {"CastLike", 1},
                                                                  {"DequantizeLinear", 1},
                                                                  {"OneHot", 2},
                                                                  {"QLinearConv", 7},
                                                                  {"QLinearMatMul", 7},
                                                                  {"QLinearConcat", 1},
                                                                  {"QLinearWhere", 1},
                                                                  {"MatMulIntegerToFloat", 2},
                                                                  {"QAttention", 3},
                                                                  {"GatherBlockQuantized", 2},
                                                                  {"EmbedLayerNormalization", 2}};

// Operators that name their output type in an attribute. `fallback` is the type if the attribute is
// absent; nullopt stands for the type of the first input.
struct TypeAttribute {
  std::string_view name;
  MaybeType fallback;
};
const std::unordered_map<std::string_view, TypeAttribute> typed_by_attribute = {
    {"Cast", {"to", std::nullopt}},
    {"RandomNormal", {"dtype", DType::f32}},
    {"RandomUniform", {"dtype", DType::f32}},
    {"RandomNormalLike", {"dtype", std::nullopt}},
    {"RandomUniformLike", {"dtype", std::nullopt}},
    {"Bernoulli", {"dtype", std::nullopt}},
    {"EyeLike", {"dtype", std::nullopt}},
    {"Multinomial", {"dtype", DType::i32}},
    {"SequenceEmpty", {"dtype", DType::f32}},
    {"HannWindow", {"output_datatype", DType::f32}},
    {"HammingWindow", {"output_datatype", DType::f32}},
    {"BlackmanWindow", {"output_datatype", DType::f32}},
    {"MelWeightMatrix", {"output_datatype", DType::f32}}};

// Operators whose later outputs differ in type from the first.
const std::unordered_map<std::string_view, DType> later_types = {{"TopK", DType::i64},
                                                                 {"Unique", DType::i64},
                                                                 {"MaxPool", DType::i64},
                                                                 {"Dropout", DType::boolean}};

MaybeType declared_type(const TypeProto& type) {
  switch (type.value_case()) {
    case TypeProto::kTensorType: return dtype_of_onnx(type.tensor_type().elem_type());
    case TypeProto::kSequenceType: return declared_type(type.sequence_type().elem_type());
    case TypeProto::kOptionalType: return declared_type(type.optional_type().elem_type());
    default: return std::nullopt;
  }
}

MaybeType constant_type(const NodeProto& node) {
  for (const AttributeProto& value : node.attribute()) {
    if (value.name() == "value") return dtype_of_onnx(value.t().data_type());
    if (value.name() == "sparse_value")
      return dtype_of_onnx(value.sparse_tensor().values().data_type());
    if (value.name().starts_with("value_float")) return DType::f32;
    if (value.name().starts_with("value_int")) return DType::i64;
  }
  return std::nullopt;
}

class Inference {
 public:
  void graph(const GraphProto& graph, const DTypes& outer) {
    DTypes types = outer;
    for (const auto& tensor : graph.initializer())
      set(types, tensor.name(), dtype_of_onnx(tensor.data_type()));
    for (const auto* values : {&graph.input(), &graph.value_info(), &graph.output()})
      for (const auto& value : *values) set(types, value.name(), declared_type(value.type()));
    for (const NodeProto& node : graph.node()) add_node(node, types);
    found_[&graph] = std::move(types);
  }

  GraphDTypes take() { return std::move(found_); }

 private:
  static void set(DTypes& types, const std::string& name, MaybeType type) {
    if (type && !name.empty()) types[name] = *type;
  }

  static MaybeType input_type(const NodeProto& node, int index, const DTypes& types) {
    if (index >= node.input_size()) return std::nullopt;
    const auto found = types.find(node.input(index));
    return found == types.end() ? MaybeType() : found->second;
  }

  void add_node(const NodeProto& node, DTypes& types) {
    for_each_subgraph(node,
                      [&](const GraphProto& inner, const auto&) { subgraph(node, inner, types); });
    for (int i = 0; i < node.output_size(); ++i)
      if (!types.contains(node.output(i))) set(types, node.output(i), output_type(node, i, types));
  }

  // A subgraph's inputs have the types of the node's inputs; an If's subgraphs have no inputs. A
  // Loop's subgraph declares its first two inputs, iteration number and condition, itself.
  void subgraph(const NodeProto& node, const GraphProto& inner, const DTypes& types) {
    DTypes seen = types;
    for (int i = node.op_type() == "Loop" ? 2 : 0; i < inner.input_size(); ++i)
      set(seen, inner.input(i).name(), input_type(node, i, types));
    graph(inner, seen);
  }

  MaybeType subgraph_output(const NodeProto& node, int index) const {
    const int skipped = node.op_type() == "Loop" ? 1 : 0;
    for (const AttributeProto& value : node.attribute()) {
      if (!value.has_g() || index + skipped >= value.g().output_size()) continue;
      const DTypes& types = found_.at(&value.g());
      const auto found = types.find(value.g().output(index + skipped).name());
      if (found != types.end()) return found->second;
    }
    return std::nullopt;
  }

  MaybeType attribute_type(const NodeProto& node, const TypeAttribute& rule,
                           const DTypes& types) const {
    if (const auto* value = attribute(node, rule.name))
      return dtype_of_onnx(static_cast<int>(value->i()));
    return rule.fallback ? rule.fallback : input_type(node, 0, types);
  }

  MaybeType output_type(const NodeProto& node, int index, const DTypes& types) const {
    const std::string& op = node.op_type();
    if (op == "If" || op == "Loop" || op == "Scan") return subgraph_output(node, index);
    if (op == "Constant") return constant_type(node);
    if (op == "ConstantOfShape")
      return attribute(node, "value") ? constant_type(node) : MaybeType(DType::f32);
    if (op == "QuantizeLinear") return quantized_type(node, types);
    if (op == "QGemm") return input_type(node, node.input_size() > 8 ? 8 : 1, types);
    if (op == "DynamicQuantizeLinear" && index == 1) return DType::f32;
    if (index > 0)
      if (const auto later = later_types.find(op); later != later_types.end()) return later->second;
    if (const auto fixed = fixed_types.find(op); fixed != fixed_types.end()) return fixed->second;
    if (const auto rule = typed_by_attribute.find(op); rule != typed_by_attribute.end())
      return attribute_type(node, rule->second, types);
    if (const auto rule = typed_by_input.find(op); rule != typed_by_input.end())
      return input_type(node, rule->second, types);
    const bool known = is_onnx_domain(node.domain()) || node.domain() == "com.microsoft" ||
                       node.domain() == switch_domain;
    return known ? input_type(node, 0, types) : std::nullopt;
  }

  static MaybeType quantized_type(const NodeProto& node, const DTypes& types) {
    if (node.input_size() > 2 && !node.input(2).empty()) return input_type(node, 2, types);
    const auto type = static_cast<int>(attribute_int(node, "output_dtype", 0));
    return type == 0 ? MaybeType(DType::u8) : dtype_of_onnx(type);
  }

  GraphDTypes found_;
};

}  // namespace

GraphDTypes infer_dtypes(const GraphProto& graph) {
  Inference inference;
  inference.graph(graph, {});
  return inference.take();
}

}  // namespace vernier
