#include "vernier/model/fp16_constants.h"

#include <vernier_onnx.pb.h>

#include <cmath>

#include "vernier/model/graph.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr auto single = TensorProto::FLOAT;
constexpr auto half = TensorProto::FLOAT16;

constexpr float largest = 65504.0F;
constexpr float smallest = 0x1p-24F;  // 5.96e-8, the smallest subnormal

float clamped(float value, ClampedWeight& report) {
  const float size = std::fabs(value);
  if (size > largest && std::isfinite(value)) {
    ++report.overflowed;
    return std::copysign(largest, value);
  }
  if (size < smallest && value != 0) {
    // Above half the smallest subnormal, rounding alone gives the smallest subnormal.
    if (size <= smallest / 2) ++report.underflowed;
    return std::copysign(smallest, value);
  }
  return value;
}

// The attribute that holds the output type of a generating operator.
const char* type_attribute(const NodeProto& node) {
  const std::string& op = node.op_type();
  if (op == "Cast") return "to";
  return op.ends_with("Window") || op == "MelWeightMatrix" ? "output_datatype" : "dtype";
}

bool generates_single_by_default(const NodeProto& node) {
  const std::string& op = node.op_type();
  return op == "RandomNormal" || op == "RandomUniform" || op == "SequenceEmpty" ||
         op == "MelWeightMatrix" || op.ends_with("Window");
}

void set_tensor(AttributeProto& value, TensorProto tensor) {
  value.Clear();
  value.set_name("value");
  value.set_type(AttributeProto::TENSOR);
  *value.mutable_t() = std::move(tensor);
}

// Turns value_float and value_floats of a Constant, and the implied zero of a ConstantOfShape, into
// a tensor attribute, whose type can be changed.
void make_value_explicit(NodeProto& node) {
  TensorProto tensor;
  tensor.set_data_type(single);
  if (node.op_type() == "ConstantOfShape" && !attribute(node, "value")) {
    tensor.add_dims(1);
    tensor.add_float_data(0);
    return set_tensor(*node.add_attribute(), std::move(tensor));
  }
  if (node.op_type() != "Constant") return;
  for (AttributeProto& value : *node.mutable_attribute()) {
    if (value.name() == "value_float") {
      tensor.add_float_data(value.f());
      return set_tensor(value, std::move(tensor));
    }
    if (value.name() == "value_floats") {
      tensor.add_dims(value.floats_size());
      *tensor.mutable_float_data() = value.floats();
      return set_tensor(value, std::move(tensor));
    }
  }
}

void make_type_explicit(NodeProto& node) {
  if (!generates_single_by_default(node) || attribute(node, type_attribute(node))) return;
  AttributeProto& value = *node.add_attribute();
  value.set_name(type_attribute(node));
  value.set_type(AttributeProto::INT);
  value.set_i(single);
}

}  // namespace

ClampedWeight convert_generator(const Model& model, NodeProto& node) {
  make_value_explicit(node);
  make_type_explicit(node);
  ClampedWeight report;
  for (AttributeProto& value : *node.mutable_attribute()) {
    if (value.name() == type_attribute(node) && value.i() == single) value.set_i(half);
    if (value.name() == "value" && value.t().data_type() == single)
      report = convert_weight(model, *value.mutable_t());
  }
  report.name = node.output_size() > 0 ? node.output(0) : node.name();
  return report;
}

ClampedWeight convert_weight(const Model& model, TensorProto& tensor) {
  const Tensor source = model.tensor(tensor);
  ClampedWeight report{.name = tensor.name(), .count = source.size()};
  Tensor narrowed = make_tensor(source.name, DType::f16, source.shape);
  const auto from = elements<float>(source.view());
  const auto to = elements<std::uint16_t>(narrowed);
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = f32_to_f16(clamped(from[i], report));

  const std::string name = tensor.name();
  tensor = make_tensor_proto(narrowed);
  tensor.set_name(name);
  return report;
}

}  // namespace vernier
