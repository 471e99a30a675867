#include "vernier/runtime/exact.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "vernier/model/index.h"
#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

constexpr const char* microsoft = "com.microsoft";
constexpr int none = -1;

// An operator that multiplies activations by weights as integers, and the roles of its inputs.
struct IntegerOperator {
  const char* op;
  const char* domain;
  int weight;
  int weight_zero_point;
  int activation_zero_point;  // none if the operator itself quantizes activations to uint8
  bool zero_point_may_be_added = true;
};

constexpr IntegerOperator integer_operators[] = {
    {"QLinearConv", "", 3, 5, 2},
    {"QLinearConv", microsoft, 3, 5, 2},  // channels last, as the optimiser writes it
    {"QLinearMatMul", "", 3, 5, 2},
    {"MatMulInteger", "", 1, 3, 2},
    {"ConvInteger", "", 1, 3, 2},
    {"QGemm", microsoft, 3, 5, 2},
    {"MatMulIntegerToFloat", microsoft, 1, 5, 4},
    {"DynamicQuantizeMatMul", microsoft, 1, 3, none},
    {"QAttention", microsoft, 1, 7, 6},
    {"DynamicQuantizeLSTM", microsoft, 1, 9, none, false},
    {"DynamicQuantizeLSTM", microsoft, 2, 11, none, false},
};

class UnsignedWeights {
 public:
  explicit UnsignedWeights(Model& model) : model_(model) {
    for (const TensorProto& weight : model.graph().initializer())
      weights_.emplace(weight.name(), &weight);
  }

  void convert() {
    visit(model_.graph());
    for (TensorProto& weight : added_) *model_.graph().add_initializer() = std::move(weight);
    if (!added_.empty()) remove_unread();
  }

 private:
  void visit(GraphProto& graph) {
    for (NodeProto& node : *graph.mutable_node()) {
      for_each_subgraph(node, [&](GraphProto& inner, const auto&) { visit(inner); });
      for (const IntegerOperator& each : integer_operators)
        if (is_op(node, each.op, each.domain)) convert(node, each);
    }
  }

  const TensorProto* find(const std::string& name) const {
    const auto found = weights_.find(name);
    return found == weights_.end() ? nullptr : found->second;
  }

  bool is_int8(const std::string& name) const {
    const TensorProto* weight = find(name);
    return weight && weight->data_type() == TensorProto::INT8;
  }

  // Leaves operators with int8 activations alone: their kernels accept only int8 weights.
  void convert(NodeProto& node, const IntegerOperator& op) {
    const std::string weight = input_name(node, op.weight);
    const std::string zero_point = input_name(node, op.weight_zero_point);
    if (!is_int8(weight) || is_int8(input_name(node, op.activation_zero_point))) return;
    if (zero_point.empty() ? !op.zero_point_may_be_added : !is_int8(zero_point)) return;
    while (node.input_size() <= op.weight_zero_point) node.add_input("");
    node.set_input(op.weight, unsigned_weight(weight));
    node.set_input(op.weight_zero_point,
                   zero_point.empty() ? added_zero_point() : unsigned_weight(zero_point));
  }

  std::string unsigned_weight(const std::string& name) {
    const std::string result = name + ".unsigned";
    if (done_.insert(result).second) add(result, model_.tensor(*find(name)));
    return result;
  }

  std::string added_zero_point() {
    const std::string name = "vernier.zero_point.unsigned";
    if (done_.insert(name).second) add(name, make_tensor("", DType::i8, {}));
    return name;
  }

  void add(const std::string& name, const Tensor& stored) {
    Tensor raised = raise_to_unsigned(stored);
    raised.name = name;
    added_.push_back(make_tensor_proto(raised));
  }

  void remove_unread() {
    std::unordered_set<std::string> read;
    for (const Subgraph& subgraph : all_subgraphs(model_.graph())) {
      for (const auto& output : subgraph.graph->output()) read.insert(output.name());
      for (const NodeProto& node : subgraph.graph->node())
        read.insert(node.input().begin(), node.input().end());
    }
    auto& weights = *model_.graph().mutable_initializer();
    const auto unread = [&](const TensorProto& weight) {
      return done_.contains(weight.name() + ".unsigned") && !read.contains(weight.name());
    };
    weights.erase(std::remove_if(weights.begin(), weights.end(), unread), weights.end());
  }

  Model& model_;
  std::unordered_map<std::string, const TensorProto*> weights_;
  std::unordered_set<std::string> done_;
  std::vector<TensorProto> added_;
};

constexpr const char* accuracy_level = "accuracy_level";

bool rounds_activations(const NodeProto& node) {
  constexpr std::int64_t int8_activations = 4;
  return is_op(node, "MatMulNBits", microsoft) &&
         attribute_int(node, accuracy_level, 0) == int8_activations;
}

void keep_activations_in_float(GraphProto& graph) {
  constexpr std::int64_t float_activations = 1;
  for (NodeProto& node : *graph.mutable_node()) {
    if (rounds_activations(node))
      for (AttributeProto& attribute : *node.mutable_attribute())
        if (attribute.name() == accuracy_level) attribute.set_i(float_activations);
    for_each_subgraph(node,
                      [](GraphProto& inner, const auto&) { keep_activations_in_float(inner); });
  }
}

bool has_dequantized_operands(const GraphProto& graph) {
  const GraphIndex index(graph);
  return std::ranges::any_of(graph.node(), [&](const NodeProto& node) {
    if (!is_op_or_contrib(node, "DequantizeLinear") || node.input_size() == 0) return false;
    const NodeProto* writer = index.producer(node.input(0));
    return writer ? is_op_or_contrib(*writer, "QuantizeLinear") || is_op(*writer, "Constant")
                  : !index.is_input(node.input(0)) || index.initializer(node.input(0));
  });
}

}  // namespace

bool has_dequantized_operands(const Model& model) {
  return std::ranges::any_of(all_subgraphs(model.graph()), [](const Subgraph& subgraph) {
    return has_dequantized_operands(*subgraph.graph);
  });
}

Tensor raise_to_unsigned(const TensorView& tensor) {
  Tensor raised = copy(tensor);
  raised.dtype = DType::u8;
  for (std::byte& byte : raised.bytes) byte ^= std::byte{0x80};
  return raised;
}

std::vector<std::string> nodes_with_rounded_activations(const Model& model) {
  std::vector<std::string> nodes;
  for (const Subgraph& subgraph : all_subgraphs(model.graph()))
    for (const NodeProto& node : subgraph.graph->node())
      if (rounds_activations(node)) nodes.push_back(node_label(node));
  return nodes;
}

void keep_activations_in_float(Model& model) { keep_activations_in_float(model.graph()); }

void make_exact(Model& model) {
  make_weights_unsigned(model);
  keep_activations_in_float(model);
}

void make_weights_unsigned(Model& model) { UnsignedWeights(model).convert(); }

}  // namespace vernier
