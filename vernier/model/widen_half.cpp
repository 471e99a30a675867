#include "vernier/model/widen_half.h"

#include <vernier_onnx.pb.h>

#include <array>

#include "vernier/model/graph.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

bool is_half(std::int64_t data_type) {
  return data_type == TensorProto::FLOAT16 || data_type == TensorProto::BFLOAT16;
}

// Attributes that say which type an operator writes.
bool names_type(const std::string& attribute) {
  constexpr std::array<std::string_view, 4> names = {"to", "dtype", "output_datatype",
                                                     "stash_type"};
  return std::ranges::find(names, attribute) != names.end();
}

void widen_type(TypeProto& type) {
  if (type.has_tensor_type() && is_half(type.tensor_type().elem_type()))
    type.mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
  if (type.has_sequence_type()) widen_type(*type.mutable_sequence_type()->mutable_elem_type());
  if (type.has_optional_type()) widen_type(*type.mutable_optional_type()->mutable_elem_type());
}

class Widening {
 public:
  Widening(const Model& source, const WiderConstant& wider) : source_(source), wider_(wider) {}

  void graph(GraphProto& graph) const {
    for (TensorProto& weight : *graph.mutable_initializer()) constant(weight, weight.name());
    for (auto* values : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
      for (auto& value : *values)
        if (value.has_type()) widen_type(*value.mutable_type());
    for (NodeProto& each : *graph.mutable_node()) node(each);
  }

 private:
  void constant(TensorProto& stored, const std::string& name) const {
    if (!is_half(stored.data_type())) return;
    const Tensor half = source_.tensor(stored);
    std::optional<Tensor> wide = wider_(name, half.view());
    if (!wide) wide = convert(half.view(), DType::f32);
    const std::string own_name = stored.name();
    stored = make_tensor_proto(*wide);
    stored.set_name(own_name);
  }

  void node(NodeProto& node) const {
    const std::string name = node.output_size() > 0 ? node.output(0) : "";
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (names_type(attribute.name()) && is_half(attribute.i()))
        attribute.set_i(TensorProto::FLOAT);
      if (attribute.has_t()) constant(*attribute.mutable_t(), name);
    }
    for_each_subgraph(node, [&](GraphProto& inner, const auto&) { graph(inner); });
  }

  const Model& source_;
  const WiderConstant& wider_;
};

}  // namespace

Model widen_half(const Model& model, const WiderConstant& wider) {
  Model widened = model.clone();
  Widening(model, wider).graph(widened.graph());
  return widened;
}

}  // namespace vernier
