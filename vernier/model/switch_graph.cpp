#include "vernier/model/switch_graph.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>

#include "vernier/model/make_node.h"
#include "vernier/model/real_operators.h"
#include "vernier/model/switch_nodes.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using Indices = std::vector<std::size_t>;

// Rewrites one graph, as switch_graph() says.
class GraphSwitches {
 public:
  GraphSwitches(const GraphIndex& index, SwitchList& list,
                const std::map<std::string, OperandWeight>& operands)
      : index_(index), list_(list), operands_(operands) {}

  void rewrite(GraphProto& graph) {
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    graph_ = &graph;
    for (NodeProto& node : nodes) rewrite(std::move(node));
  }

 private:
  // The real counterpart of a stored tensor, and the switches that it depends on.
  struct Real {
    std::string tensor;
    std::string scale, zero_point;
    Indices switches;
  };
  // A product of integers that a later node scales to real numbers.
  struct Product {
    NodeProto real;  // computes the product from real numbers
    Indices switches;
  };

  void rewrite(NodeProto node) {
    const std::string output = node.output_size() > 0 ? node.output(0) : "";
    if (is_dequantize_linear(&node) && add_pair(node)) return;
    if (is_dequantize_linear(&node) && add_dequantized_weight(node)) return;
    if (is_dequantize_linear(&node) && add_real_output(node)) return;
    if (is_quantize_linear(&node) && add_quantize(node)) return;
    if (node.op_type() == "DynamicQuantizeLinear" && add_dynamic(node)) return;
    if (add_q_operator(node) || add_weight_operator(node)) return;
    if (!output.empty() && add_product(node)) return;
    if (add_moved(node)) return;
    // The order of real values is that of their codes.
    const bool asks_order = is_one_of(node, {"ArgMax", "ArgMin"});
    for (std::string& input : *node.mutable_input())
      if (const auto real = real_.find(input); real != real_.end())
        input = asks_order ? real->second.tensor : requantized(input);
    emit(node);
    note_product(node);
  }

  void emit(NodeProto node) { *graph_->add_node() = std::move(node); }

  // Adds a node of the file under another output name, which it returns: a switch reads that and
  // writes the original name.
  std::string emit_for_switch(NodeProto node) {
    const std::string quantized = "vernier.quantized:" + node.output(0);
    node.set_output(0, quantized);
    emit(std::move(node));
    return quantized;
  }

  SwitchPlace place_of(std::size_t activation) const {
    return {activation, SwitchRole::activation, list_.switches[activation].folded};
  }

  std::optional<std::size_t> activation(const std::string& key) const {
    const auto found = list_.activations.find(key);
    return found == list_.activations.end() ? std::nullopt : std::optional(found->second);
  }

  DType scale_type(const std::string& scale) const {
    return index_.dtype(scale).value_or(DType::f32);
  }

  // x -> Q -> DQ: readers get the output of DequantizeLinear, or x.
  bool add_pair(NodeProto& node) {
    const NodeProto* quantize = index_.producer(node.input(0));
    if (!is_quantize_linear(quantize)) return false;
    const auto index = activation(index_.label(pair_key(*quantize)));
    if (!index) return false;
    const std::string output = node.output(0);
    const DType dtype = scale_type(input_name(node, 1));
    const std::string quantized = emit_for_switch(std::move(node));
    emit(choice_node(place_of(*index), quantize->input(0), quantized, output, dtype));
    return true;
  }

  // QuantizeLinears of one tensor with the same scale and zero point share the first one's switch.
  std::string pair_key(const NodeProto& quantize) const {
    for (const NodeProto* same : index_.consumers(quantize.input(0)))
      if (is_quantize_linear(same) && input_name(*same, 1) == input_name(quantize, 1) &&
          input_name(*same, 2) == input_name(quantize, 2) &&
          activation(index_.label(same->output(0))))
        return same->output(0);
    return quantize.output(0);
  }

  bool add_dequantized_weight(NodeProto& node) {
    const NodeProto* source = index_.producer(node.input(0));
    const std::vector<const NodeProto*> rows = gathered_rows(index_, source);
    const std::string stored = !rows.empty()                ? rows[0]->input(0)
                               : is_quantize_linear(source) ? source->input(0)
                                                            : node.input(0);
    const auto found = list_.weight_switches.find(stored);
    if (found == list_.weight_switches.end()) return false;
    const std::string output = node.output(0);
    std::string real = float_name(stored);
    const DType dtype = scale_type(input_name(node, 1));
    const std::string quantized = emit_for_switch(std::move(node));
    for (const NodeProto* row : rows) {
      NodeProto moved = *row;
      const std::string suffix = row->output(0) + ":" + output;
      moved.set_name("vernier.rows:" + suffix);
      moved.set_input(0, real);
      moved.set_output(0, real = "vernier.gathered:" + suffix);
      emit(std::move(moved));
    }
    const SwitchRole role = rows.empty() ? SwitchRole::weight : SwitchRole::activation;
    emit(choice_node({found->second, role}, real, quantized, output, dtype));
    return true;
  }

  // A DequantizeLinear of a QOperator node's output becomes an Identity of the real counterpart.
  bool add_real_output(const NodeProto& node) {
    const auto real = real_.find(node.input(0));
    if (real == real_.end() || real->second.scale != input_name(node, 1) ||
        real->second.zero_point != input_name(node, 2))
      return false;
    emit(make_node("Identity", {real->second.tensor}, node.output(0)));
    return true;
  }

  // A QuantizeLinear before QOperator nodes, of an activation or a constant: no DequantizeLinear
  // reads its output.
  bool add_quantize(NodeProto& node) {
    const auto index = activation(index_.label(node.output(0)));
    const auto constant = list_.weight_switches.find(node.input(0));
    const bool is_constant = !index && constant != list_.weight_switches.end();
    const auto readers = index_.consumers(node.output(0));
    if ((!index && !is_constant) || std::ranges::any_of(readers, is_dequantize_linear))
      return false;
    const std::size_t at = index ? *index : constant->second;
    const std::string x = is_constant ? float_name(node.input(0)) : node.input(0);
    const std::string stored = node.output(0);
    const Real real{"vernier.real:" + stored, input_name(node, 1), input_name(node, 2), {at}};
    emit(std::move(node));
    const SwitchPlace place = is_constant ? SwitchPlace{at, SwitchRole::weight} : place_of(at);
    emit(choice_node(place, x, dequantized(stored, real), real.tensor));
    real_.emplace(stored, real);
    unswitched_stores_.insert(stored);
    return true;
  }

  static std::vector<std::string> with_quantizer(const std::string& tensor, const Real& real) {
    if (real.zero_point.empty()) return {tensor, real.scale};
    return {tensor, real.scale, real.zero_point};
  }

  std::string dequantized(const std::string& stored, const Real& real) {
    std::string output = "vernier.dequantized:" + stored;
    if (!dequantized_.insert(stored).second) return output;
    emit(make_node("DequantizeLinear", with_quantizer(stored, real), output));
    return output;
  }

  // The real counterpart, which depends on the switches, quantized again.
  std::string requantized(const std::string& stored) {
    const Real& real = real_.at(stored);
    const std::string output =
        (unswitched_stores_.contains(stored) ? "vernier.stored:" : "") + stored;
    if (!requantized_.insert(stored).second) return output;
    emit(make_node("QuantizeLinear", with_quantizer(real.tensor, real), output));
    return output;
  }

  // The real counterpart of an input of a QOperator node, an activation or a constant; empty if it
  // is unknown.
  std::string real_input(const NodeProto& node, const StoredInput& place, Indices& switches) {
    const std::string stored = input_name(node, place.tensor);
    if (const auto real = real_.find(stored); real != real_.end()) {
      switches.insert(switches.end(), real->second.switches.begin(), real->second.switches.end());
      return real->second.tensor;
    }
    if (const auto weight = operands_.find(stored); weight != operands_.end())
      return real_weight(stored, weight->second, switches);
    if (!index_.constant(stored)) return "";
    if (!dequantized_.contains(stored))
      list_.unswitched.push_back({Unswitched::Reason::no_float_counterpart, stored});
    return dequantized(stored,
                       {"", input_name(node, place.scale), input_name(node, place.zero_point), {}});
  }

  // The float weight or the dequantized one, depending on the switch.
  std::string real_weight(const std::string& stored, const OperandWeight& operand,
                          Indices& switches) {
    const auto index = list_.weight_switches.find(stored);
    const std::string quantized = "vernier.dequantized:" + stored;
    if (list_.added.insert(quantized).second) list_.add_weight(quantized, operand.weight->real());
    if (index == list_.weight_switches.end()) return quantized;
    switches.push_back(index->second);
    const std::string output = "vernier.switched:" + stored;
    if (switched_weights_.insert(stored).second)
      emit(choice_node({index->second, SwitchRole::weight}, float_name(stored), quantized, output));
    return output;
  }

  // The int32 bias times the scales of both factors, or the float model's bias.
  std::string real_bias(const NodeProto& node, const RealOperator& real,
                        const std::string& weight) {
    const std::string stored = input_name(node, real.bias);
    const auto integers = index_.value(stored);
    const auto x = index_.numbers(input_name(node, real.inputs[0].scale));
    const auto w = index_.numbers(input_name(node, real.inputs[1].scale));
    if (!integers || !x || !w || x->empty() || w->empty()) return "";
    const std::vector<double> values = to_f64(*integers);
    Tensor bias = make_tensor("", DType::f32, integers->shape);
    for (std::size_t i = 0; i < values.size(); ++i)
      elements<float>(bias)[i] =
          static_cast<float>(values[i] * (*x)[0] * (*w)[w->size() == 1 ? 0 : i % w->size()]);
    const std::string name = fmt::format("vernier.bias:{}", node_label(node));
    list_.add_weight(name, bias);
    const auto operand = operands_.find(weight);
    const auto index = list_.weight_switches.find(weight);
    if (operand == operands_.end() || index == list_.weight_switches.end()) return name;
    const Tensor* float_bias = nearest_bias(operand->second.biases, bias);
    if (!float_bias) {
      list_.unswitched.push_back({Unswitched::Reason::no_float_counterpart, stored});
      return name;
    }
    Tensor shaped = copy(float_bias->view());
    shaped.shape = bias.shape;
    list_.add_weight(float_name(name), std::move(shaped));
    emit(selector_node({index->second}, float_name(name), name, "vernier.switched:" + name));
    return "vernier.switched:" + name;
  }

  bool add_q_operator(NodeProto& node) {
    const auto real = real_operator(node);
    if (!real) return false;
    NodeProto computed = real_node(node, *real);
    Indices switches;
    for (const StoredInput& input : real->inputs) {
      const std::string tensor = real_input(node, input, switches);
      if (tensor.empty()) return false;
      computed.add_input(tensor);
    }
    if (real->bias >= 0 && !input_name(node, real->bias).empty()) {
      const std::string bias = real_bias(node, *real, input_name(node, real->inputs[1].tensor));
      if (bias.empty()) return false;
      computed.add_input(bias);
    }
    const std::string stored = node.output(0), result = "vernier.result:" + stored;
    computed.add_output(result);
    for (const StoredInput& input : real->inputs)
      if (real_.contains(node.input(input.tensor)))
        node.set_input(input.tensor, requantized(node.input(input.tensor)));
    const std::string kept = "vernier.stored_by_file:" + stored;
    const std::string scale = input_name(node, real->output_scale);
    const std::string zero_point = input_name(node, real->output_scale + 1);
    node.set_output(0, kept);
    emit(std::move(computed));
    emit(std::move(node));
    if (scale.empty()) {  // QGemm can write real numbers
      emit(selector_node(switches, result, kept, stored));
      return true;
    }
    const auto index = activation(index_.label(stored));
    Real made{"vernier.real:" + stored, scale, zero_point, {}};
    std::string quantized_result = result;
    if (index) {
      made.switches = {*index};
      switches.push_back(*index);
      emit(make_node("QuantizeLinear", {result, scale, zero_point}, "vernier.simulated:" + stored));
      quantized_result = "vernier.own:" + stored;
      emit(choice_node(place_of(*index), result, dequantized("vernier.simulated:" + stored, made),
                       quantized_result));
    }
    emit(selector_node(switches, quantized_result, dequantized(kept, made), made.tensor));
    real_.emplace(stored, std::move(made));
    if (index_.is_output(stored)) requantized(stored);
    return true;
  }

  // Applies Reshape, MaxPool and similar operators to the real counterpart.
  bool add_moved(NodeProto& node) {
    if (!moves_elements(node) || node.input_size() == 0) return false;
    const auto found = real_.find(node.input(0));
    if (found == real_.end()) return false;
    Real moved = found->second;
    const std::string stored = node.output(0);
    node.set_input(0, moved.tensor);
    node.set_output(0, moved.tensor = "vernier.real:" + stored);
    emit(std::move(node));
    real_.emplace(stored, std::move(moved));
    if (index_.is_output(stored)) requantized(stored);
    return true;
  }

  // Dynamic quantization: the stored integers are dequantized at once.
  bool add_dynamic(NodeProto& node) {
    const auto index = activation(node_label(node));
    if (!index) return false;
    const std::string x = node.input(0), stored = node.output(0);
    const Real real{"vernier.real:" + stored, node.output(1), node.output(2), {*index}};
    emit(std::move(node));
    emit(choice_node({*index, SwitchRole::activation}, x, dequantized(stored, real), real.tensor));
    dynamic_.emplace(stored, real);
    return true;
  }

  // ConvInteger and MatMulInteger: the product is replaced at the Mul that scales it.
  void note_product(const NodeProto& node) {
    const bool convolves = node.op_type() == "ConvInteger";
    if (!convolves && node.op_type() != "MatMulInteger") return;
    const auto x = dynamic_.find(node.input(0));
    const auto weight = operands_.find(node.input(1));
    if (x == dynamic_.end()) return;
    Product product{.real = real_node(node, {convolves ? "Conv" : "MatMul", {}}),
                    .switches = x->second.switches};
    const std::string factor = weight == operands_.end()
                                   ? computed_weight(node, product.switches)
                                   : real_weight(node.input(1), weight->second, product.switches);
    if (factor.empty()) return;
    product.real.add_input(x->second.tensor);
    product.real.add_input(factor);
    products_.emplace(real_product(index_, node.output(0)), std::move(product));
  }

  // A constant that a DynamicQuantizeLinear quantizes in each run, or what comes out of it: it goes
  // with the other factor's switches. Empty if the second input is no such weight.
  std::string computed_weight(const NodeProto& node, const Indices& switches) {
    const std::string& stored = node.input(1);
    const NodeProto* quantize = index_.producer(stored);
    if (!quantize || quantize->op_type() != "DynamicQuantizeLinear" ||
        !index_.constant(quantize->input(0)) || real_product(index_, node.output(0)).empty())
      return "";
    list_.computed_weights.insert(node_label(node));
    std::string output = "vernier.switched:" + node.output(0);
    emit(selector_node(switches, quantize->input(0),
                       dequantized(stored, {"", quantize->output(1), quantize->output(2), {}}),
                       output));
    return output;
  }

  bool add_product(NodeProto& node) {
    const auto found = products_.find(node.output(0));
    if (found == products_.end()) return false;
    const std::string output = node.output(0);
    const std::string quantized = emit_for_switch(std::move(node));
    NodeProto real = std::move(found->second.real);
    real.add_output("vernier.result:" + output);
    emit(std::move(real));
    emit(selector_node(found->second.switches, "vernier.result:" + output, quantized, output));
    return true;
  }

  // Operators that read a stored weight and write real numbers.
  bool add_weight_operator(NodeProto& node) {
    if (node.op_type() == "MatMulNBits") return add_product_of(node, node.input(0), {}, 1, 5);
    if (node.op_type() == "DynamicQuantizeMatMul") {
      const auto index = activation(node_label(node));
      if (!index || !operands_.contains(node.input(1))) return false;
      NodeProto quantize =
          make_node("DynamicQuantizeLinear", {node.input(0)}, "vernier.stored:" + node.output(0));
      quantize.add_output("vernier.scale:" + node.output(0));
      quantize.add_output("vernier.zero_point:" + node.output(0));
      list_.activations.emplace(node_label(quantize), *index);
      const std::string stored = quantize.output(0);
      add_dynamic(quantize);
      return add_product_of(node, dynamic_.at(stored).tensor, {*index}, 1, 4);
    }
    if (node.op_type() != "MatMulIntegerToFloat") return false;
    const auto x = dynamic_.find(node.input(0));
    return x != dynamic_.end() && add_product_of(node, x->second.tensor, x->second.switches, 1, 6);
  }

  bool add_product_of(NodeProto& node, const std::string& x, Indices switches, int weight,
                      int bias) {
    const auto operand = operands_.find(input_name(node, weight));
    if (operand == operands_.end()) return false;
    const std::string output = node.output(0);
    std::string factor = real_weight(node.input(weight), operand->second, switches);
    if (operand->second.weight->form == WeightForm::n_bits) {  // stored transposed
      emit(make_node("Transpose", {factor}, "vernier.transposed:" + output));
      factor = "vernier.transposed:" + output;
    }
    // The real weight is float32; the other factor may be float16.
    const DType dtype = scale_type(input_name(node, weight + 1));
    std::string result = "vernier.result:" + output;
    if (dtype == DType::f32) {
      emit(make_node("MatMul", {x, factor}, result));
    } else {
      emit(make_cast(x, DType::f32, "vernier.widened:" + output));
      emit(make_node("MatMul", {"vernier.widened:" + output, factor}, "vernier.wide:" + output));
      emit(make_cast("vernier.wide:" + output, dtype, result));
    }
    if (const std::string added = input_name(node, bias); !added.empty()) {
      emit(make_node("Add", {result, added}, "vernier.biased:" + output));
      result = "vernier.biased:" + output;
    }
    emit(selector_node(switches, result, emit_for_switch(std::move(node)), output, dtype));
    return true;
  }

  const GraphIndex& index_;  // of the original graph
  SwitchList& list_;
  const std::map<std::string, OperandWeight>& operands_;  // by name
  GraphProto* graph_ = nullptr;
  std::map<std::string, Real> real_;         // by stored tensor
  std::map<std::string, Real> dynamic_;      // by stored tensor of a DynamicQuantizeLinear
  std::map<std::string, Product> products_;  // by name of the real product
  std::set<std::string> dequantized_, requantized_, switched_weights_;
  // Stored tensors that the file's QuantizeLinear still writes under their own name, independent of
  // the switches.
  std::set<std::string> unswitched_stores_;
};

}  // namespace

void switch_graph(GraphProto& graph, const GraphIndex& index, SwitchList& list,
                  const std::map<std::string, OperandWeight>& operands) {
  GraphSwitches(index, list, operands).rewrite(graph);
}

}  // namespace vernier
