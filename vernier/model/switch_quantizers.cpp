#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "vernier/error.h"
#include "vernier/model/edit.h"
#include "vernier/model/insert_switches.h"
#include "vernier/model/make_node.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/real_operators.h"
#include "vernier/model/switch_nodes.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using vernier_onnx::AttributeProto;
using vernier_onnx::GraphProto;
using vernier_onnx::NodeProto;

using Indices = std::vector<std::size_t>;

bool is_quantize(const NodeProto* node) { return node && node->op_type() == "QuantizeLinear"; }
bool is_dequantize(const NodeProto* node) { return node && node->op_type() == "DequantizeLinear"; }

// Whether operators read the weight's stored integers.
bool is_operand(const QuantizedWeight& weight) {
  return weight.form != WeightForm::dequantized && weight.form != WeightForm::fake_quantized;
}

// The switches of a quantized model, and the weights that are added to it.
struct SwitchList {
  std::vector<Switch> switches;
  std::vector<Unswitched> unswitched;
  std::vector<Tensor> weights;
  // By label of the stored tensor; dynamic ones by label of the quantizing node.
  std::map<std::string, std::size_t> activations;
  std::map<std::string, std::size_t> weight_switches;  // by name of the weight
  std::map<std::size_t, std::optional<RealRange>> folded;
  std::set<std::string> added;  // names of dequantized weights in `weights`

  std::string add_weight(std::string name, Tensor weight) {
    weight.name = std::move(name);
    weights.push_back(std::move(weight));
    return weights.back().name;
  }
};

// A weight whose stored integers an operator reads directly.
struct OperandWeight {
  const QuantizedWeight* weight = nullptr;
  std::span<const Tensor> biases = {};
};

// Rewrites one graph. Each stored tensor gets a real counterpart, which all operators read. The
// file's own operators read it quantized again: that gives the stored integers back, so their
// result can be used if all quantizers that it depends on are as in the file.
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
    if (is_dequantize(&node) && add_pair(node)) return;
    if (is_dequantize(&node) && add_dequantized_weight(node)) return;
    if (is_dequantize(&node) && add_real_output(node)) return;
    if (is_quantize(&node) && add_quantize(node)) return;
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
    if (!is_quantize(quantize)) return false;
    const auto index = activation(index_.label(pair_key(*quantize)));
    if (!index) return false;
    const std::string output = node.output(0), quantized = "vernier.quantized:" + output;
    node.set_output(0, quantized);
    const DType dtype = scale_type(input_name(node, 1));
    emit(std::move(node));
    emit(choice_node({*index, SwitchRole::activation, list_.folded[*index]}, quantize->input(0),
                     quantized, output, dtype));
    return true;
  }

  // QuantizeLinears of one tensor with the same scale and zero point share the first one's switch.
  std::string pair_key(const NodeProto& quantize) const {
    for (const NodeProto* same : index_.consumers(quantize.input(0)))
      if (is_quantize(same) && input_name(*same, 1) == input_name(quantize, 1) &&
          input_name(*same, 2) == input_name(quantize, 2) &&
          activation(index_.label(same->output(0))))
        return same->output(0);
    return quantize.output(0);
  }

  bool add_dequantized_weight(NodeProto& node) {
    const NodeProto* source = index_.producer(node.input(0));
    const std::vector<const NodeProto*> rows = gathered_rows(index_, source);
    const std::string stored = !rows.empty()         ? rows[0]->input(0)
                               : is_quantize(source) ? source->input(0)
                                                     : node.input(0);
    const auto found = list_.weight_switches.find(stored);
    if (found == list_.weight_switches.end()) return false;
    const std::string output = node.output(0), quantized = "vernier.quantized:" + output;
    std::string real = float_name(stored);
    node.set_output(0, quantized);
    const DType dtype = scale_type(input_name(node, 1));
    emit(std::move(node));
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

  static std::string float_name(const std::string& weight) { return "vernier.float:" + weight; }

  // A DequantizeLinear of a QOperator node's output becomes an Identity of the real counterpart.
  bool add_real_output(const NodeProto& node) {
    const auto real = real_.find(node.input(0));
    if (real == real_.end() || real->second.scale != input_name(node, 1) ||
        real->second.zero_point != input_name(node, 2))
      return false;
    emit(make_node("Identity", {real->second.tensor}, node.output(0)));
    return true;
  }

  // A QuantizeLinear before QOperator nodes: no DequantizeLinear reads its output.
  bool add_quantize(NodeProto& node) {
    const auto index = activation(index_.label(node.output(0)));
    const auto readers = index_.consumers(node.output(0));
    if (!index || std::ranges::any_of(readers, is_dequantize)) return false;
    const std::string x = node.input(0), stored = node.output(0);
    const Real real{"vernier.real:" + stored, input_name(node, 1), input_name(node, 2), {*index}};
    emit(std::move(node));
    emit(choice_node({*index, SwitchRole::activation, list_.folded[*index]}, x,
                     dequantized(stored, real), real.tensor));
    real_.emplace(stored, real);
    unswitched_stores_.insert(stored);
    return true;
  }

  std::string dequantized(const std::string& stored, const Real& real) {
    std::string output = "vernier.dequantized:" + stored;
    if (!dequantized_.insert(stored).second) return output;
    std::vector<std::string> inputs = {stored, real.scale};
    if (!real.zero_point.empty()) inputs.push_back(real.zero_point);
    emit(make_node("DequantizeLinear", inputs, output));
    return output;
  }

  // The real counterpart, which depends on the switches, quantized again.
  std::string requantized(const std::string& stored) {
    const Real& real = real_.at(stored);
    const std::string output =
        (unswitched_stores_.contains(stored) ? "vernier.stored:" : "") + stored;
    if (!requantized_.insert(stored).second) return output;
    std::vector<std::string> inputs = {real.tensor, real.scale};
    if (!real.zero_point.empty()) inputs.push_back(real.zero_point);
    emit(make_node("QuantizeLinear", inputs, output));
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
      emit(choice_node({*index, SwitchRole::activation, list_.folded[*index]}, result,
                       dequantized("vernier.simulated:" + stored, made), quantized_result));
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
    if (x == dynamic_.end() || weight == operands_.end()) return;
    Product product{.real = real_node(node, {convolves ? "Conv" : "MatMul", {}}),
                    .switches = x->second.switches};
    product.real.add_input(x->second.tensor);
    product.real.add_input(real_weight(node.input(1), weight->second, product.switches));
    products_.emplace(real_product(node.output(0)), std::move(product));
  }

  // The real product that Cast and Mul compute from the integer result; empty if they do not.
  std::string real_product(std::string tensor) const {
    for (int step = 0; step < 2; ++step) {
      const auto readers = index_.consumers(tensor);
      if (readers.size() != 1) return "";
      tensor = readers[0]->output(0);
      if (readers[0]->op_type() == "Mul") return tensor;
      if (readers[0]->op_type() != "Cast") return "";
    }
    return "";
  }

  bool add_product(NodeProto& node) {
    const auto found = products_.find(node.output(0));
    if (found == products_.end()) return false;
    const std::string output = node.output(0), quantized = "vernier.quantized:" + output;
    node.set_output(0, quantized);
    emit(std::move(node));
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
    const std::string output = node.output(0), quantized = "vernier.quantized:" + output;
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
      emit(cast_node(x, DType::f32, "vernier.widened:" + output));
      emit(make_node("MatMul", {"vernier.widened:" + output, factor}, "vernier.wide:" + output));
      emit(cast_node("vernier.wide:" + output, dtype, result));
    }
    if (const std::string added = input_name(node, bias); !added.empty()) {
      emit(make_node("Add", {result, added}, "vernier.biased:" + output));
      result = "vernier.biased:" + output;
    }
    node.set_output(0, quantized);
    emit(std::move(node));
    emit(selector_node(switches, result, quantized, output, dtype));
    return true;
  }

  static NodeProto cast_node(const std::string& tensor, DType dtype, const std::string& output) {
    NodeProto node = make_node("Cast", {tensor}, output);
    add_int(node, "to", onnx_data_type(dtype));
    return node;
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

// Calls visit(graph, path) for the graph and its subgraphs, inner ones first. Paths are as in
// all_subgraphs().
template <typename Visit>
void visit_graphs(GraphProto& graph, const std::string& path, const Visit& visit) {
  for (NodeProto& node : *graph.mutable_node())
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      const std::string prefix = path.empty() ? "" : path + "/";
      const std::string inner = fmt::format("{}{}.{}", prefix, node_label(node), attribute.name());
      if (attribute.has_g()) visit_graphs(*attribute.mutable_g(), inner, visit);
      for (GraphProto& each : *attribute.mutable_graphs()) visit_graphs(each, inner, visit);
    }
  visit(graph, path);
}

class ModelSwitches {
 public:
  ModelSwitches(const ModelIndex& index, const Quantization& quantization,
                FloatCounterparts counterparts)
      : index_(index), model_(index.model().clone()), biases_(std::move(counterparts.biases)) {
    for (std::size_t i = 0; i < quantization.activations.size(); ++i)
      add(quantization.activations[i], counterparts.folded[i]);
    for (std::size_t i = 0; i < quantization.weights.size(); ++i)
      add({&quantization.weights[i], biases_[i]}, std::move(counterparts.weights[i]));
    for (const UnreadQuantization& unread : quantization.unread)
      list_.unswitched.push_back({Unswitched::Reason::unknown_operator, unread.subject});
  }

  SwitchedModel insert() && {
    visit_graphs(model_.graph(), "", [&](GraphProto& graph, const std::string& path) {
      for (const GraphIndex& index : index_.graphs())
        if (index.path() == path) return GraphSwitches(index, list_, operands_).rewrite(graph);
    });
    for (Tensor& weight : list_.weights)  // each is freed at once: together they may take gigabytes
      *model_.graph().add_initializer() = make_tensor_proto(std::exchange(weight, {}));
    import_switch_domain(model_.proto());
    remove_unplaced();
    return {std::move(model_), std::move(list_.switches), std::move(list_.unswitched)};
  }

 private:
  void add(const QuantizedActivation& activation, const std::optional<RealRange>& folded) {
    const std::size_t index = list_.switches.size();
    list_.activations.emplace(activation.dynamic ? activation.node : activation.stored, index);
    list_.folded[index] = folded;
    const std::string& written = activation.before.empty() ? activation.stored : activation.before;
    const FoundTensor* writer = index_.tensor(written);
    Switch added{.kind = Switch::Kind::activation,
                 .name = activation.name,
                 .node = writer ? node_label(*writer->node) : "",
                 .op = writer ? writer->node->op_type() : "",
                 .is_in_file = true,
                 .is_dynamic = activation.dynamic,
                 .folded = folded};
    if (!activation.dynamic) added.in_file = activation.quantizer;
    list_.switches.push_back(std::move(added));
  }

  void add(const OperandWeight& operand, std::optional<Tensor> real) {
    const QuantizedWeight& weight = *operand.weight;
    if (is_operand(weight)) operands_.emplace(weight.name, operand);
    if (list_.weight_switches.contains(weight.name)) return;
    if (!real) {
      list_.unswitched.push_back({Unswitched::Reason::no_float_counterpart, weight.name});
      return;
    }
    list_.weight_switches.emplace(weight.name, list_.switches.size());
    list_.add_weight("vernier.float:" + weight.name, *std::move(real));
    const FoundNode* reader = index_.node(weight.reader);
    list_.switches.push_back({.kind = Switch::Kind::weight,
                              .name = weight.name,
                              .node = weight.reader,
                              .op = reader ? reader->node->op_type() : "",
                              .in_file = weight.quantizer,
                              .is_in_file = true,
                              .reader = weight.reader,
                              .reader_input = weight.reader_input,
                              .channel_axis = weight.channel_axis});
  }

  // Removes the switches of operators that could not be rewritten: no node has them.
  void remove_unplaced() {
    std::set<std::int64_t> placed;
    const auto each_switch = [&](const auto& visit) {
      visit_graphs(model_.graph(), "", [&](GraphProto& graph, const std::string&) {
        for (NodeProto& node : *graph.mutable_node())
          if (node.domain() == switch_domain) visit(*node.mutable_attribute(0)->mutable_ints());
      });
    };
    each_switch([&](auto& indices) { placed.insert(indices.begin(), indices.end()); });
    std::map<std::int64_t, std::int64_t> numbers;
    std::vector<Switch> kept;
    for (std::size_t i = 0; i < list_.switches.size(); ++i) {
      if (placed.contains(static_cast<std::int64_t>(i))) {
        numbers[static_cast<std::int64_t>(i)] = std::ssize(kept);
        kept.push_back(std::move(list_.switches[i]));
      } else {
        list_.unswitched.push_back({Unswitched::Reason::unknown_operator, list_.switches[i].name});
      }
    }
    each_switch([&](auto& indices) {
      for (std::int64_t& index : indices) index = numbers[index];
    });
    list_.switches = std::move(kept);
  }

  const ModelIndex& index_;
  Model model_;
  SwitchList list_;
  std::vector<std::vector<Tensor>> biases_;  // of the operands
  std::map<std::string, OperandWeight> operands_;
};

}  // namespace

void require_room_for_floats(const ModelIndex& quantized_model, const Quantization& quantization) {
  std::map<std::string, std::int64_t> bytes;
  for (const QuantizedWeight& weight : quantization.weights)
    if (const Weight* stored = quantized_model.weight(weight.name)) {
      const std::int64_t held = weight_bytes(*stored->proto);
      const bool is_float = weight.form == WeightForm::fake_quantized;
      const std::int64_t floats = is_float ? held : held * 32 / bits(weight.quantizer.dtype);
      bytes[weight.name] = is_operand(weight) ? 2 * floats : floats;  // also dequantized
    }
  std::int64_t all = 0;
  for (const auto& [name, each] : bytes) all += each;
  if (all > std::numeric_limits<std::int32_t>::max())
    throw Error(
        fmt::format("[memory] {}: its quantized weights take {:.1f} GB in float32, more than the 2 "
                    "GB that ONNX "
                    "Runtime takes from memory",
                    quantized_model.model().name(), static_cast<double>(all) / 1e9));
}

const Tensor* nearest_bias(std::span<const Tensor> biases, const TensorView& stored) {
  const std::vector<double> expected = to_f64(stored);
  const Tensor* nearest = nullptr;
  double least = INFINITY;
  for (const Tensor& bias : biases) {
    if (bias.size() != stored.size()) continue;
    const std::vector<double> values = to_f64(bias);
    double noise = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      noise += (values[i] - expected[i]) * (values[i] - expected[i]);
    if (nearest && !(noise < least)) continue;
    nearest = &bias;
    least = noise;
  }
  return nearest;
}

SwitchedModel insert_switches(const ModelIndex& quantized_model, const Quantization& quantization,
                              FloatCounterparts counterparts) {
  return ModelSwitches(quantized_model, quantization, std::move(counterparts)).insert();
}

}  // namespace vernier
