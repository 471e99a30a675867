#include "vernier/model/quantization.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "vernier/model/n_bits.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/real_operators.h"
#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

// Input positions of an operator that reads a stored weight and writes real numbers.
struct WeightInputs {
  int weight;
  int scale;
  int zero_point;
  int bias;
};
const std::map<std::string, WeightInputs> weight_operators = {
    {"MatMulIntegerToFloat", {1, 3, 5, 6}},
    {"DynamicQuantizeMatMul", {1, 2, 3, 4}},
    {"QAttention", {1, 4, 7, 2}}};

// Quantized operators that are recognised but not interpreted.
const std::set<std::string, std::less<>> unread_operators = {
    "DynamicQuantizeLSTM",      "GatherBlockQuantized", "MatMulBnb4",   "MatMulFpQ4",
    "QEmbedLayerNormalization", "QLinearReduceSum",     "QLinearWhere", "QMoE"};

// Finds what one graph of the model quantizes.
class GraphReader {
 public:
  GraphReader(const Model& model, const GraphIndex& index, Quantization& found)
      : model_(model), index_(index), found_(found) {}

  void find() {
    for (const NodeProto& node : index_.graph().node()) {
      if (is_dequantize_linear(&node))
        add_dequantize(node);
      else if (is_quantize_linear(&node))
        add_lone_quantize(node);
      else if (const auto op = q_operator(node))
        add_q_operator(node, *op);
      else if (node.op_type() == "MatMulInteger" || node.op_type() == "ConvInteger")
        add_integer_operator(node);
      else if (const auto inputs = weight_operators.find(node.op_type());
               inputs != weight_operators.end())
        add_weight_operator(node, inputs->second);
      else if (node.op_type() == "MatMulNBits")
        add_n_bits(node);
      else if (unread_operators.contains(node.op_type()))
        add_unread(UnreadQuantization::Reason::unknown_operator, node);
      if (node.op_type() == "DynamicQuantizeLinear" || node.op_type() == "DynamicQuantizeMatMul")
        add_dynamic(node);
    }
  }

 private:
  std::string label(const std::string& tensor) const { return index_.label(tensor); }

  // A weight or the value of a Constant node, also through Identity; null if the tensor is neither.
  const TensorProto* stored(const std::string& name) const {
    if (const TensorProto* constant = index_.constant(name)) return constant;
    const NodeProto* node = index_.producer(name);
    if (!node || !is_op(*node, "Identity")) return nullptr;
    const WeightSource source = index_.weight_source(name);  // terminates on cycles of Identity
    return source.dequantize || source.transposed ? nullptr : source.stored;
  }

  void add_unread(UnreadQuantization::Reason reason, const NodeProto& node) const {
    found_.unread.push_back({reason, node_label(node), node.op_type()});
  }

  std::optional<Tensor> constant(const std::string& name) const {
    const TensorProto* tensor = stored(name);
    return tensor ? std::optional(model_.tensor(*tensor)) : std::nullopt;
  }

  std::function<Tensor()> dequantizing(const TensorProto& weight,
                                       const Quantizer& quantizer) const {
    return [&model = model_, &weight, quantizer] {
      return dequantize(model.tensor(weight), quantizer);
    };
  }

  // The quantizer with the constants `scale` and `zero_point`; nullopt if one of them is computed.
  std::optional<Quantizer> quantizer(const std::string& scale, const std::string& zero_point,
                                     DType fallback) const {
    std::optional<Tensor> scales = constant(scale);
    if (!scales) return std::nullopt;
    Quantizer result{.dtype = fallback, .scale = *std::move(scales)};
    if (!zero_point.empty()) {
      result.zero_point = constant(zero_point);
      if (!result.zero_point) return std::nullopt;
      result.dtype = result.zero_point->dtype;
    }
    return result;
  }

  std::optional<Quantizer> node_quantizer(const NodeProto& node, DType fallback) const {
    auto result = quantizer(input_name(node, 1), input_name(node, 2), fallback);
    if (!result) return result;
    result->axis = attribute_int(node, "axis", 1);
    result->block_size = attribute_int(node, "block_size", 0);
    return result;
  }

  DType quantized_type(const NodeProto& quantize) const {
    const auto type = dtype_of_onnx(static_cast<int>(attribute_int(quantize, "output_dtype", 0)));
    return type.value_or(DType::u8);
  }

  // The activation with `writer` and its fields set to the node that computes the tensor.
  QuantizedActivation written(QuantizedActivation activation, const std::string& tensor) const {
    const NodeProto* node = index_.producer(tensor);
    if (!node) return activation;
    activation.writer = node->name();
    activation.writer_op = node->op_type();
    const auto at = std::ranges::find(node->output(), tensor);
    activation.writer_output = static_cast<int>(at - node->output().begin());
    return activation;
  }

  void add_dequantize(const NodeProto& node) {
    const NodeProto* source = index_.producer(node.input(0));
    if (is_quantize_linear(source)) {
      if (stored(source->input(0)))
        add_fake_quantized(*source, node.output(0));
      else
        add_pair(*source, node);
    } else if (const TensorProto* weight = stored(node.input(0))) {
      const auto weight_quantizer = node_quantizer(node, dtype_of(*weight));
      if (weight_quantizer)
        add_weight({.name = node.input(0),
                    .real_name = label(node.output(0)),
                    .quantizer = *weight_quantizer,
                    .real = dequantizing(*weight, *weight_quantizer)},
                   node.output(0));
    } else if (const auto rows = gathered_rows(index_, source);
               !rows.empty() && stored(rows[0]->input(0))) {
      add_gathered(*rows[0], node);
    }
  }

  // Rows of a stored table that are dequantized: an embedding.
  void add_gathered(const NodeProto& gather, const NodeProto& dequantize) {
    const TensorProto* table = stored(gather.input(0));
    const auto table_quantizer = node_quantizer(dequantize, dtype_of(*table));
    if (!table_quantizer || granularity(*table_quantizer) != Granularity::per_tensor)
      return add_unread(UnreadQuantization::Reason::unknown_weight_scale, gather);
    const std::string output = label(dequantize.output(0));
    found_.outputs.push_back({{output}, gather.name(), gather.op_type()});
    if (seen_.insert("weight\n" + gather.input(0)).second)
      add_operand(gather, 0, WeightForm::dequantized, *table_quantizer, output);
  }

  // Adds one activation per tensor and quantizer; each reader may have its own DequantizeLinear.
  void add_pair(const NodeProto& quantize, const NodeProto& dequantize) {
    const std::string key =
        quantize.input(0) + '\n' + input_name(quantize, 1) + '\n' + input_name(quantize, 2);
    if (!seen_.insert(key).second) return;
    const auto pair_quantizer = node_quantizer(quantize, quantized_type(quantize));
    if (!pair_quantizer) {
      found_.unread.push_back({UnreadQuantization::Reason::computed_scale, label(quantize.input(0)),
                               quantize.op_type()});
      return;
    }
    const std::string before = label(quantize.input(0)), after = label(dequantize.output(0));
    found_.activations.push_back(
        written({.name = index_.is_output(dequantize.output(0)) ? after : before,
                 .before = before,
                 .after = after,
                 .stored = label(quantize.output(0)),
                 .quantizer = *pair_quantizer,
                 .node = node_label(quantize)},
                quantize.input(0)));
  }

  // A QuantizeLinear before a QOperator node, of an activation or a constant: no DequantizeLinear
  // reads the stored integers.
  void add_lone_quantize(const NodeProto& node) {
    const auto readers = index_.consumers(node.output(0));
    if (std::ranges::any_of(readers,
                            [](const NodeProto* reader) { return is_dequantize_linear(reader); }))
      return;
    const auto input_quantizer = node_quantizer(node, quantized_type(node));
    if (!input_quantizer) return;
    if (stored(node.input(0))) return add_fake_quantized(node, "");
    found_.activations.push_back(written({.name = label(node.input(0)),
                                          .before = label(node.input(0)),
                                          .stored = label(node.output(0)),
                                          .quantizer = *input_quantizer,
                                          .node = node_label(node)},
                                         node.input(0)));
  }

  // The output of the first DequantizeLinear that reads `stored`; empty if there is none.
  std::string dequantized(const std::string& stored) const {
    const auto readers = index_.consumers(stored);
    const auto reader = std::ranges::find_if(readers, is_dequantize_linear);
    return reader == readers.end() ? "" : label((*reader)->output(0));
  }

  void add_q_operator(const NodeProto& node, const RealOperator& op) {
    const std::string real_output = dequantized(node.output(0));
    const auto output = quantizer(input_name(node, op.output_scale),
                                  input_name(node, op.output_scale + 1), DType::u8);
    if (output)
      found_.activations.push_back(written({.name = label(node.output(0)),
                                            .after = real_output,
                                            .stored = label(node.output(0)),
                                            .quantizer = *output,
                                            .node = node_label(node)},
                                           node.output(0)));
    for (const StoredInput& input : op.inputs) {
      const bool is_weight = op.has_weight && &input == &op.inputs[1];
      if (is_weight || real_operator(node)) add_stored_operand(node, input, real_output);
    }
  }

  // An input of a QOperator node, if it is a constant: a weight, or what QLinearAdd adds.
  void add_stored_operand(const NodeProto& node, const StoredInput& input,
                          const std::string& real_output) {
    const TensorProto* integers = stored(input_name(node, input.tensor));
    if (!integers) return;
    auto operand_quantizer = quantizer(input_name(node, input.scale),
                                       input_name(node, input.zero_point), dtype_of(*integers));
    if (!operand_quantizer) return;
    operand_quantizer->axis = scale_axis(node, input.tensor, *integers);
    add_operand(node, input.tensor, WeightForm::q_operator, *operand_quantizer, real_output);
  }

  // The node computes the scale of its first input in each run.
  void add_dynamic(const NodeProto& node) {
    if (stored(node.input(0)) || !seen_.insert("dynamic\n" + node.input(0)).second) return;
    found_.activations.push_back(written({.name = label(node.input(0)),
                                          .before = label(node.input(0)),
                                          .node = node_label(node),
                                          .dynamic = true},
                                         node.input(0)));
  }

  // The operator's output, then that of the Add of a constant bias, if one follows.
  WeightedOutput weighted_output(const std::string& real, const NodeProto& node) const {
    WeightedOutput output{{label(real)}, node.name(), node.op_type()};
    if (!index_.has_one_reader(real)) return output;
    const NodeProto& reader = *index_.consumers(real)[0];
    if (!is_op(reader, "Add")) return output;
    const std::string& bias = reader.input(reader.input(0) == real ? 1 : 0);
    const NodeProto* reshape = index_.producer(bias);
    if (stored(bias) || (reshape && is_op(*reshape, "Reshape") && stored(reshape->input(0))))
      output.tensors.push_back(label(reader.output(0)));
    return output;
  }

  // Dynamic quantization: the Mul after the integer operator multiplies by the weight's scale.
  void add_integer_operator(const NodeProto& node) {
    const std::string real_output = real_product(index_, node.output(0));
    if (!real_output.empty()) found_.outputs.push_back(weighted_output(real_output, node));
    add_product_weight(node, 1, weight_scale(node.output(0)), input_name(node, 3),
                       real_output.empty() ? "" : label(real_output));
  }

  void add_weight_operator(const NodeProto& node, const WeightInputs& inputs) {
    const std::string output = label(node.output(0));
    found_.outputs.push_back(input_name(node, inputs.bias).empty()
                                 ? weighted_output(node.output(0), node)
                                 : WeightedOutput{{output}, node.name(), node.op_type()});
    add_product_weight(node, inputs.weight, input_name(node, inputs.scale),
                       input_name(node, inputs.zero_point), output);
  }

  void add_product_weight(const NodeProto& node, int input, const std::string& scale,
                          const std::string& zero_point, const std::string& real_output) {
    const TensorProto* integers = stored(input_name(node, input));
    if (!integers) return add_unread(UnreadQuantization::Reason::computed_weight, node);
    auto weight_quantizer = quantizer(scale, zero_point, dtype_of(*integers));
    if (!weight_quantizer)
      return add_unread(UnreadQuantization::Reason::unknown_weight_scale, node);
    weight_quantizer->axis = scale_axis(node, input, *integers);
    add_operand(node, input, WeightForm::integer_operator, *weight_quantizer, real_output);
  }

  // A weight whose stored integers an operator reads directly.
  void add_operand(const NodeProto& node, int input, WeightForm form, Quantizer weight_quantizer,
                   std::string real_output) {
    QuantizedWeight weight{
        .name = node.input(input), .form = form, .quantizer = std::move(weight_quantizer)};
    read_by(weight, node, input);
    if (!real_output.empty() || form == WeightForm::integer_operator)
      weight.reader_output = std::move(real_output);
    weight.real = dequantizing(*stored(weight.name), weight.quantizer);
    found_.weights.push_back(std::move(weight));
  }

  std::string weight_scale(const std::string& integers) const {
    const std::string product = real_product(index_, integers);
    const NodeProto* multiply = product.empty() ? nullptr : index_.producer(product);
    if (!multiply) return "";
    for (const std::string& factor : multiply->input()) {
      if (stored(factor)) return factor;
      const NodeProto* scales = index_.producer(factor);
      if (!scales || scales->op_type() != "Mul") continue;
      for (const std::string& scale : scales->input())
        if (stored(scale)) return scale;
    }
    return "";
  }

  void add_n_bits(const NodeProto& node) {
    found_.outputs.push_back(weighted_output(node.output(0), node));
    const TensorProto* packed = stored(input_name(node, 1));
    const TensorProto* scales = stored(input_name(node, 2));
    if (!packed || !scales) return add_unread(UnreadQuantization::Reason::computed_weight, node);
    QuantizedWeight weight{.name = node.input(1),
                           .form = WeightForm::n_bits,
                           .quantizer = n_bits_quantizer(node, model_.tensor(*scales))};
    read_by(weight, node, 1);
    weight.real = [&node, &model = model_, packed, scales, zeros = stored(input_name(node, 3))] {
      return unpack_n_bits(node, model.tensor(*packed), model.tensor(*scales),
                           zeros ? std::optional(model.tensor(*zeros)) : std::nullopt);
    };
    found_.weights.push_back(std::move(weight));
  }

  // `dequantized` is empty if QOperator nodes read the integers.
  void add_fake_quantized(const NodeProto& quantize, const std::string& dequantized) {
    if (!seen_.insert("weight\n" + quantize.output(0)).second) return;
    const auto weight_quantizer = node_quantizer(quantize, quantized_type(quantize));
    if (!weight_quantizer) return;
    QuantizedWeight weight{.name = quantize.input(0),
                           .form = WeightForm::fake_quantized,
                           .real_name = dequantized.empty() ? "" : label(dequantized),
                           .quantizer = *weight_quantizer};
    weight.real = [&model = model_, real = stored(quantize.input(0)),
                   quantizer = *weight_quantizer] {
      return fake_quantize(model.tensor(*real), quantizer);
    };
    set_reader(weight, dequantized.empty() ? quantize.output(0) : dequantized);
    found_.weights.push_back(std::move(weight));
  }

  void add_weight(QuantizedWeight weight, const std::string& real) {
    if (!seen_.insert("weight\n" + weight.name).second) return;
    set_reader(weight, real);
    found_.weights.push_back(std::move(weight));
  }

  void set_reader(QuantizedWeight& weight, const std::string& real) const {
    const auto readers = index_.consumers(real);
    if (readers.empty()) return;
    const auto& inputs = readers[0]->input();
    const auto at = std::ranges::find(inputs, real);
    read_by(weight, *readers[0], static_cast<int>(at - inputs.begin()));
  }

  void read_by(QuantizedWeight& weight, const NodeProto& node, int input) const {
    weight.reader = node.name();
    weight.reader_input = input;
    weight.reader_output = node.output_size() > 0 ? label(node.output(0)) : "";
    weight.channel_axis = output_channel_axis(node, input);
  }

  // The axis of per-channel scales, which is that of the output channels.
  static std::int64_t scale_axis(const NodeProto& node, int input, const TensorProto& weight) {
    const int axis = output_channel_axis(node, input);
    return axis < 0 ? weight.dims_size() - 1 : axis;
  }

  const Model& model_;
  const GraphIndex& index_;
  Quantization& found_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

bool is_quantize_linear(const NodeProto* node) {
  return node && node->op_type() == "QuantizeLinear";
}

bool is_dequantize_linear(const NodeProto* node) {
  return node && node->op_type() == "DequantizeLinear";
}

std::string real_product(const GraphIndex& graph, std::string integers) {
  for (int step = 0; step < 2; ++step) {
    const auto readers = graph.consumers(integers);
    if (readers.size() != 1) return "";
    integers = readers[0]->output(0);
    if (readers[0]->op_type() == "Mul") return integers;
    if (readers[0]->op_type() != "Cast") return "";
  }
  return "";
}

int output_channel_axis(const NodeProto& node, int input) {
  const std::string& op = node.op_type();
  if (op == "ConvTranspose") return 1;
  if (op == "Gemm" || op == "QGemm") {
    const bool left = input == 0;
    return (attribute_int(node, left ? "transA" : "transB", 0) == 1) == left ? 1 : 0;
  }
  const bool product =
      op == "QAttention" || (op.find("MatMul") != std::string::npos && op != "MatMulNBits");
  return product && input != 0 ? -1 : 0;
}

std::optional<int> matrix_output_axis(const GraphIndex& index, const std::string& matrix) {
  static const std::set<std::string_view> products = {"MatMul",
                                                      "Gemm",
                                                      "QGemm",
                                                      "QLinearMatMul",
                                                      "MatMulInteger",
                                                      "MatMulIntegerToFloat",
                                                      "DynamicQuantizeMatMul"};
  static const std::set<std::string_view> passed_on = {"Transpose", "QuantizeLinear",
                                                       "DequantizeLinear", "Cast", "Identity"};
  std::optional<int> axis;
  for (const NodeProto* reader : index.consumers(matrix)) {
    const int at =
        static_cast<int>(std::ranges::find(reader->input(), matrix) - reader->input().begin());
    std::optional<int> found;
    if (products.contains(reader->op_type())) {
      found = output_channel_axis(*reader, at) == 0 ? 0 : 1;
    } else if (reader->output_size() > 0 && passed_on.contains(reader->op_type())) {
      found = matrix_output_axis(index, reader->output(0));
      if (found && is_op(*reader, "Transpose")) found = 1 - *found;
    }
    if (!found || (axis && *axis != *found)) return std::nullopt;
    axis = found;
  }
  return axis;
}

std::vector<const NodeProto*> gathered_rows(const GraphIndex& graph, const NodeProto* last) {
  constexpr int most_steps = 8;  // nodes of a damaged file may form a cycle
  std::vector<const NodeProto*> rows;
  for (const NodeProto* node = last;
       node && node->input_size() > 0 && std::ssize(rows) < most_steps;
       node = graph.producer(node->input(0))) {
    rows.insert(rows.begin(), node);
    if (is_op(*node, "Gather")) return rows;
    if (!is_op(*node, "Transpose") && !is_op(*node, "Reshape") && !is_op(*node, "Squeeze") &&
        !is_op(*node, "Unsqueeze") && !is_op(*node, "Identity"))
      return {};
  }
  return {};
}

Quantization find_quantization(const ModelIndex& index) {
  Quantization found;
  for (const GraphIndex& graph : index.graphs()) GraphReader(index.model(), graph, found).find();
  return found;
}

}  // namespace vernier
