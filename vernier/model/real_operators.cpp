#include "vernier/model/real_operators.h"

#include <vernier_onnx.pb.h>

#include <map>
#include <set>
#include <string>

namespace vernier {
namespace {

const StoredInput first{0, 1, 2}, second{3, 4, 5};

const std::map<std::string, RealOperator, std::less<>> real_operators = {
    {"QLinearConv", {"Conv", {first, second}, 8, 6, true}},
    {"QLinearMatMul", {"MatMul", {first, second}, -1, 6, true}},
    {"QGemm", {"Gemm", {first, second}, 6, 7, true}},
    {"QLinearAdd", {"Add", {first, second}, -1, 6}},
    {"QLinearMul", {"Mul", {first, second}, -1, 6}},
    {"QLinearSigmoid", {"Sigmoid", {first}, -1, 3}},
    {"QLinearLeakyRelu", {"LeakyRelu", {first}, -1, 3}},
    {"QLinearSoftmax", {"Softmax", {first}, -1, 3}},
    {"QLinearAveragePool", {"AveragePool", {first}, -1, 3}},
    {"QLinearGlobalAveragePool", {"GlobalAveragePool", {first}, -1, 3}},
    {"QLinearReduceMean", {"ReduceMean", {first}, -1, 3}},
    {"QLinearConcat", {"Concat", {}, -1, 0}}};

const std::set<std::string, std::less<>> moving_operators = {
    "MaxPool", "Reshape", "Transpose",    "Flatten",      "Squeeze", "Unsqueeze", "Identity",
    "Slice",   "Gather",  "DepthToSpace", "SpaceToDepth", "Expand",  "Tile"};

}  // namespace

std::optional<RealOperator> q_operator(const NodeProto& node) {
  const auto found = real_operators.find(node.op_type());
  if (found == real_operators.end()) return std::nullopt;
  RealOperator real = found->second;
  if (node.op_type() == "QLinearConcat")
    for (int i = 2; i + 2 < node.input_size(); i += 3) real.inputs.push_back({i, i + 1, i + 2});
  return real;
}

std::optional<RealOperator> real_operator(const NodeProto& node) {
  return attribute_int(node, "channels_last", 0) == 0 ? q_operator(node) : std::nullopt;
}

NodeProto real_node(const NodeProto& node, const RealOperator& real) {
  NodeProto result;
  result.set_name("vernier.real:" + node_label(node));
  result.set_op_type(real.op);
  for (const AttributeProto& attribute : node.attribute())
    if (attribute.name() != "channels_last" && attribute.name() != "opset")
      *result.add_attribute() = attribute;
  return result;
}

bool moves_elements(const NodeProto& node) {
  return is_onnx_domain(node.domain()) && node.output_size() == 1 &&
         (moving_operators.contains(node.op_type()) ||
          (node.op_type() == "Resize" && attribute_string(node, "mode", "nearest") == "nearest"));
}

}  // namespace vernier
