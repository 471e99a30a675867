#include "vernier/analysis/evidence/model_weights.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <unordered_set>

#include "vernier/analysis/evidence/recurrent_weights.h"
#include "vernier/analysis/pairing/by_name.h"
#include "vernier/error.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/quantization.h"
#include "vernier/model/tensor_data.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr std::array<std::string_view, 4> convolutions = {"Conv", "FusedConv", "QLinearConv",
                                                          "ConvInteger"};

// The axis of output channels of the weight that the node reads at `input`; -1 if it has none.
int channel_axis(const NodeProto& node, int input) {
  if (input != 1) return -1;
  if (is_op(node, "Conv")) return 0;
  if (is_op(node, "ConvTranspose")) return 1;
  if (is_op(node, "Gemm")) return attribute_int(node, "transB", 0) != 0 ? 0 : 1;
  if (is_op(node, "MatMul")) return 1;
  return -1;
}

// A constant, also one behind a Reshape or Identity.
std::optional<Tensor> constant_value(const GraphIndex& index, const std::string& tensor) {
  if (auto value = index.value(tensor)) return value;
  const NodeProto* node = tensor.empty() ? nullptr : index.producer(tensor);
  if (!node || !(is_op(*node, "Reshape") || is_op(*node, "Identity"))) return std::nullopt;
  auto value = index.value(node->input(0));
  if (!value || is_op(*node, "Identity")) return value;
  const auto dims = index.numbers(input_name(*node, 1));
  if (!dims) return std::nullopt;
  const std::int64_t elements = value->size();
  value->shape.assign(dims->begin(), dims->end());
  std::int64_t known = 1;
  for (const std::int64_t dim : value->shape) known *= dim > 0 ? dim : 1;
  for (std::int64_t& dim : value->shape)
    if (dim < 0) dim = elements / known;
  return value->size() == elements ? value : std::nullopt;
}

// The product of the scalar constants that the tensor is multiplied by, along products and
// operators that only move elements: an optimiser may fold it into the weight that reads the
// tensor.
double scalar_factor(const GraphIndex& index, const std::string& tensor, int most_nodes = 8) {
  const NodeProto* node = tensor.empty() ? nullptr : index.producer(tensor);
  if (!node || node->input_size() == 0 || most_nodes == 0) return 1;
  const auto factor_of = [&](const std::string& operand) {
    const auto number = index.number(operand);
    return number ? *number : scalar_factor(index, operand, most_nodes - 1);
  };
  if (is_op(*node, "Mul")) return factor_of(node->input(0)) * factor_of(node->input(1));
  if (is_op(*node, "Div")) {
    const auto divisor = index.number(node->input(1));
    return factor_of(node->input(0)) / (divisor ? *divisor : 1);
  }
  if (is_one_of(*node, {"Identity", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze"}))
    return scalar_factor(index, node->input(0), most_nodes - 1);
  return 1;
}

// Accumulates the per-channel operators behind a weight's reader.
class ChannelSteps {
 public:
  ChannelSteps(const GraphIndex& index, ChannelScale unchanged, int axes_behind)
      : index_(index), total_(std::move(unchanged)), axes_behind_(axes_behind) {}

  // One entry for each operator, up to the first that is not per channel.
  std::vector<ChannelScale> behind(const NodeProto& reader) {
    std::vector<ChannelScale> folds;
    for (const NodeProto* node = &reader;;) {
      const auto next = index_.consumers(node->output(0));
      if (next.size() != 1 || !add(*next[0], node->output(0))) return folds;
      folds.push_back(total_);
      node = next[0];
    }
  }

 private:
  bool add(const NodeProto& node, const std::string& input) {
    if (is_op(node, "BatchNormalization")) return add_norm(node);
    const int other = node.input_size() == 2 && node.input(0) == input ? 1 : 0;
    if (is_op(node, "Mul")) return multiply(channels_of(node.input(other)));
    if (is_op(node, "Add")) return shift(channels_of(node.input(other)), 1);
    if (other == 1 && is_op(node, "Sub")) return shift(channels_of(node.input(1)), -1);
    if (other == 1 && is_op(node, "Div")) return multiply(inverse(channels_of(node.input(1))));
    return false;
  }

  bool add_norm(const NodeProto& norm) {
    if (norm.input_size() != 5) return false;
    auto factors = index_.numbers(norm.input(1));
    const auto variances = index_.numbers(norm.input(4));
    if (!factors || !variances || factors->size() != variances->size()) return false;
    const double epsilon = attribute_float(norm, "epsilon", 1e-5F);
    for (std::size_t i = 0; i < factors->size(); ++i)
      (*factors)[i] /= std::sqrt((*variances)[i] + epsilon);
    return shift(index_.numbers(norm.input(3)), -1) && multiply(factors) &&
           shift(index_.numbers(norm.input(2)), 1);
  }

  // A scalar, repeated for each channel, or one number for each channel.
  std::optional<std::vector<double>> channels_of(const std::string& tensor) const {
    const auto value = constant_value(index_, tensor);
    if (!value || !is_float(value->dtype)) return std::nullopt;
    std::vector<double> numbers = to_f64(*value);
    const std::size_t channels = total_.factors.size();
    if (numbers.size() == 1) return std::vector(channels, numbers[0]);
    const auto axis = std::ssize(value->shape) - 1 - axes_behind_;
    if (numbers.size() != channels || axis < 0 || value->shape[axis] != std::ssize(numbers))
      return std::nullopt;
    return numbers;
  }

  static std::optional<std::vector<double>> inverse(std::optional<std::vector<double>> numbers) {
    if (numbers)
      for (double& number : *numbers) number = 1 / number;
    return numbers;
  }

  bool multiply(const std::optional<std::vector<double>>& by) {
    if (!by || by->size() != total_.factors.size()) return false;
    for (std::size_t i = 0; i < by->size(); ++i) {
      total_.factors[i] *= (*by)[i];
      total_.shifts[i] *= (*by)[i];
    }
    return true;
  }

  bool shift(const std::optional<std::vector<double>>& by, double sign) {
    if (!by || by->size() != total_.shifts.size()) return false;
    for (std::size_t i = 0; i < by->size(); ++i) total_.shifts[i] += sign * (*by)[i];
    return true;
  }

  const GraphIndex& index_;
  ChannelScale total_;
  int axes_behind_;  // axes after the channel axis in the reader's output
};

// Input positions of codes, scale and zero point in operators that find_quantization() leaves out.
struct StoredOperand {
  int weight, scale, zero_point;
};
const std::map<std::string, std::vector<StoredOperand>> stored_operands = {
    {"DynamicQuantizeLSTM", {{1, 8, 9}, {2, 10, 11}}}, {"GatherBlockQuantized", {{0, 2, 3}}}};

// An LSTM has one scale for each direction, or for each direction and channel (the last axis); a
// GatherBlockQuantized one for each block. nullopt if codes are packed in bytes.
std::optional<Quantizer> operand_quantizer(const NodeProto& node, Quantizer quantizer,
                                           const Shape& shape) {
  if (node.op_type() == "GatherBlockQuantized") {
    if (quantizer.dtype == DType::u8) return std::nullopt;
    quantizer.axis = attribute_int(node, "quantize_axis", 1);
    quantizer.block_size = attribute_int(node, "block_size", 128);
  } else if (quantizer.scale.shape.size() == 2 && shape.size() == 3) {
    for (Tensor* each : {&quantizer.scale, quantizer.zero_point ? &*quantizer.zero_point : nullptr})
      if (each && each->shape.size() == 2) each->shape.insert(each->shape.begin() + 1, 1);
    quantizer.axis = 1;
    quantizer.block_size = shape[1];
  } else {
    quantizer.axis = 0;
  }
  if (!ScaleIndex::fits(shape, quantizer)) return std::nullopt;
  return quantizer;
}

// Collects the nodes that compute a tensor, in order, and the constants that they read. False if
// it depends on anything else.
bool collect_computation(const GraphIndex& graph, const std::string& tensor, GraphProto& found,
                         std::unordered_set<std::string>& seen) {
  constexpr int most_nodes = 1000;
  if (tensor.empty() || !seen.insert(tensor).second) return true;
  if (const TensorProto* constant = graph.constant(tensor)) {
    Tensor value = graph.index().model().tensor(*constant);
    value.name = tensor;
    *found.add_initializer() = make_tensor_proto(value);
    return true;
  }
  const NodeProto* node = graph.producer(tensor);
  if (!node || node->input_size() == 0 || found.node_size() >= most_nodes) return false;
  for (const auto& attribute : node->attribute())
    if (attribute.has_g()) return false;
  for (const std::string& input : node->input())
    if (!collect_computation(graph, input, found, seen)) return false;
  for (const std::string& output : node->output()) seen.insert(output);
  *found.add_node() = *node;
  return true;
}

// The value of a float tensor that is computed from constants alone; nullopt for any other.
std::optional<Tensor> computed_from_constants(const GraphIndex& graph, const std::string& tensor) {
  const ModelProto& whole = graph.index().model().proto();
  ModelProto proto;
  proto.set_ir_version(whole.ir_version());
  *proto.mutable_opset_import() = whole.opset_import();
  proto.mutable_graph()->set_name("computed");
  std::unordered_set<std::string> seen;
  if (!collect_computation(graph, tensor, *proto.mutable_graph(), seen)) return std::nullopt;
  proto.mutable_graph()->add_output()->set_name(tensor);
  try {
    Tensor value = OrtRunner(Model(std::move(proto), {}), {}).run({}).front();
    return is_float(value.dtype) ? std::optional(convert(value, DType::f32)) : std::nullopt;
  } catch (const Stopped&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
}

class WeightList {
 public:
  WeightList(const ModelIndex& index, bool any_table) : index_(index) {
    std::unordered_set<std::string> quantized;
    for (const QuantizedWeight& weight : find_quantization(index_).weights) {
      quantized.insert(weight.name);
      add_quantized(weight);
    }
    for (const GraphIndex& graph : index_.graphs())
      for (const NodeProto& node : graph.graph().node())
        if (const auto found = stored_operands.find(node.op_type()); found != stored_operands.end())
          for (const StoredOperand& operand : found->second) add_operand(graph, node, operand);
    for (const Weight& weight : index_.weights())
      if (!quantized.contains(weight.name) && (any_table || is_read_as_weight(weight)))
        add_float(weight);
    if (any_table) add_computed();
  }

  std::vector<ModelWeight> take() && { return std::move(weights_); }

 private:
  void add_quantized(const QuantizedWeight& weight) {
    const FoundNode* reader = index_.node(weight.reader);
    ModelWeight added{.name = weight.name,
                      .stored = weight.quantizer.dtype,
                      .quantizer = weight.quantizer,
                      .read = weight.real,
                      .aliases = quantizer_stems(weight.name),
                      .output_axis = output_axis(weight),
                      .convolves = reader && is_one_of(*reader->node, convolutions),
                      .transposes = reader && is_op(*reader->node, "ConvTranspose")};
    for (std::string& alias : quantizer_stems(weight.real_name))
      added.aliases.push_back(std::move(alias));
    weights_.push_back(std::move(added));
  }

  // Only of a weight that is read as stored: some operators keep it in another order.
  std::optional<int> output_axis(const QuantizedWeight& weight) const {
    for (const GraphIndex& graph : index_.graphs())
      if (graph.constant(weight.name)) return matrix_output_axis(graph, weight.name);
    return std::nullopt;
  }

  void add_operand(const GraphIndex& graph, const NodeProto& node, const StoredOperand& operand) {
    const std::string name = input_name(node, operand.weight);
    const TensorProto* stored = graph.constant(name);
    auto scale = graph.value(input_name(node, operand.scale));
    const auto dtype = stored ? dtype_of_onnx(stored->data_type()) : std::nullopt;
    if (!dtype || !scale) return;
    const Shape shape(stored->dims().begin(), stored->dims().end());
    const auto quantizer =
        operand_quantizer(node,
                          {.dtype = *dtype,
                           .scale = *std::move(scale),
                           .zero_point = graph.value(input_name(node, operand.zero_point))},
                          shape);
    if (!quantizer) return;
    weights_.push_back({.name = name,
                        .stored = *dtype,
                        .quantizer = quantizer,
                        .read = [&model = index_.model(), stored,
                                 quantizer] { return dequantize(model.view(*stored), *quantizer); },
                        .aliases = quantizer_stems(name)});
  }

  void add_float(const Weight& weight) {
    const TensorProto& proto = *weight.proto;
    const auto dtype = dtype_of_onnx(proto.data_type());
    Shape shape(proto.dims().begin(), proto.dims().end());
    if (!dtype || !is_float(*dtype) || shape.size() < 2 || element_count(shape) == 0) return;
    std::vector<ChannelScale> folds = folds_of(*weight.graph, weight.name, shape);
    weights_.push_back({.name = weight.name,
                        .shape = std::move(shape),
                        .stored = *dtype,
                        .read = [&model = index_.model(),
                                 &proto] { return convert(model.view(proto), DType::f32); },
                        .folds = std::move(folds),
                        .bias = bias_beside(*weight.graph, weight.name),
                        .aliases = {weight.name},
                        .output_axis = matrix_output_axis(*weight.graph, weight.name),
                        .input = input_beside(*weight.graph, weight.name),
                        .convolves = is_read_by(weight, convolutions),
                        .transposes = is_read_by(weight, {"ConvTranspose"}),
                        .is_blocked = is_in_blocks(weight)});
  }

  // Weights of recurrent operators that are computed from constants, as PyTorch exports them: an
  // optimiser stores the result under the same name.
  void add_computed() {
    for (const GraphIndex& graph : index_.graphs())
      for (const NodeProto& node : graph.graph().node()) {
        if (!is_recurrent_operator(node)) continue;
        for (const int input : {1, 2}) {
          const std::string name = input_name(node, input);
          if (name.empty() || graph.weight_source(name)) continue;
          if (auto value = computed_from_constants(graph, name)) add_value(name, *std::move(value));
        }
      }
  }

  void add_value(const std::string& name, Tensor value) {
    Shape shape = value.shape;
    weights_.push_back({.name = name,
                        .shape = std::move(shape),
                        .stored = DType::f32,
                        .read = [held = std::make_shared<const Tensor>(
                                     std::move(value))] { return copy(held->view()); },
                        .aliases = {name}});
  }

  static bool is_in_blocks(const Weight& weight) {
    return std::ranges::any_of(weight.graph->consumers(weight.name), [](const NodeProto* reader) {
      return reader->domain() == "com.microsoft.nchwc";
    });
  }

  // Scales, masks, initial states and tables of shapes are not read as weights.
  static bool is_read_as_weight(const Weight& weight) {
    return is_recurrent(weight) ||
           is_read_by(weight, {"Conv", "ConvTranspose", "Gemm", "MatMul", "FusedConv", "FusedGemm",
                               "FusedMatMul", "Gather", "Transpose", "Cast", "If", "Loop", "Scan"});
  }

  static bool is_recurrent(const Weight& weight) {
    return std::ranges::any_of(weight.graph->consumers(weight.name), [&](const NodeProto* reader) {
      const auto at = std::ranges::find(reader->input(), weight.name) - reader->input().begin();
      return is_recurrent_operator(*reader) && !recurrent_role(static_cast<int>(at), 0).empty();
    });
  }

  static bool is_read_by(const Weight& weight, std::initializer_list<std::string_view> ops) {
    return is_read_by(weight, std::span(ops.begin(), ops.size()));
  }

  static bool is_read_by(const Weight& weight, std::span<const std::string_view> ops) {
    return std::ranges::any_of(weight.graph->consumers(weight.name),
                               [&](const NodeProto* reader) { return is_one_of(*reader, ops); });
  }

  // The third input of the weight's only reader.
  static std::vector<double> bias_beside(const GraphIndex& index, const std::string& name) {
    const auto readers = index.consumers(name);
    if (readers.size() != 1 || channel_axis(*readers[0], 1) < 0) return {};
    const auto bias = constant_value(index, input_name(*readers[0], 2));
    return bias ? to_f64(*bias) : std::vector<double>();
  }

  // The first input of the weight's only reader, if the weight is its second.
  static std::string input_beside(const GraphIndex& index, const std::string& name) {
    const auto readers = index.consumers(name);
    return readers.size() == 1 && input_name(*readers[0], 1) == name ? readers[0]->input(0) : "";
  }

  static std::vector<ChannelScale> folds_of(const GraphIndex& index, const std::string& name,
                                            const Shape& shape) {
    const auto readers = index.consumers(name);
    if (readers.size() != 1 || readers[0]->output_size() == 0) return {};
    const NodeProto& reader = *readers[0];
    const auto at = std::ranges::find(reader.input(), name) - reader.input().begin();
    const int axis = channel_axis(reader, static_cast<int>(at));
    if (axis < 0 || axis >= std::ssize(shape)) return {};
    const bool convolves = is_op(reader, "Conv") || is_op(reader, "ConvTranspose");
    if (!convolves && shape.size() != 2) return {};
    const auto groups = is_op(reader, "ConvTranspose") ? attribute_int(reader, "group", 1) : 1;
    const auto channels = static_cast<std::size_t>(shape[axis] * groups);
    ChannelScale unchanged{axis, std::vector(channels, 1.0), std::vector(channels, 0.0)};
    std::vector<ChannelScale> folds =
        ChannelSteps(index, unchanged, convolves ? static_cast<int>(shape.size()) - 2 : 0)
            .behind(reader);
    const double factor = at == 1 ? scalar_factor(index, reader.input(0)) : 1;
    if (factor == 1 || factor == 0) return folds;
    std::vector<ChannelScale> scaled = folds;
    scaled.insert(scaled.begin(), std::move(unchanged));
    for (ChannelScale& fold : scaled) {
      for (double& each : fold.factors) each *= factor;
      fold.shifts.clear();  // a bias is not multiplied by the factor
      folds.push_back(std::move(fold));
    }
    return folds;
  }

  const ModelIndex& index_;
  std::vector<ModelWeight> weights_;
};

using Vectors = std::map<std::string, std::vector<double>>;

// The per-channel operation of a leaf that is a batch norm; nullopt for other leaves.
std::optional<ChannelScale> norm_of(const WatchedTensor& leaf, int axis, const Vectors& vectors) {
  const auto variance = vectors.find(leaf.name + ".running_var");
  const auto epsilon = leaf.constants.find("eps");
  if (variance == vectors.end() || epsilon == leaf.constants.end()) return std::nullopt;
  const std::size_t channels = variance->second.size();
  const auto numbers = [&](const char* name, double otherwise) {
    const auto found = vectors.find(leaf.name + name);
    return found == vectors.end() ? std::vector(channels, otherwise) : found->second;
  };
  ChannelScale norm{axis, numbers(".weight", 1), numbers(".bias", 0)};
  const std::vector<double> means = numbers(".running_mean", 0);
  if (norm.factors.size() != channels) return std::nullopt;
  if (norm.shifts.size() != channels || means.size() != channels) norm.shifts.clear();
  for (std::size_t i = 0; i < channels; ++i) {
    norm.factors[i] /= std::sqrt(variance->second[i] + epsilon->second);
    if (!norm.shifts.empty()) norm.shifts[i] -= means[i] * norm.factors[i];
  }
  return norm;
}

// "layers.0.attention" for "layers.0.attention.q.weight".
std::string holder_of(const std::string& parameter) {
  const std::string layer = parameter.substr(0, parameter.rfind('.'));
  const std::size_t dot = layer.rfind('.');
  return dot == std::string::npos ? "" : layer.substr(0, dot);
}

// Reads a parameter on demand, so that no second copy of all parameters is held.
Tensor read_parameter(const Runner& runner, const std::string& name) {
  Tensor found;
  runner.visit_parameters_named(
      {&name, 1}, [&](const TensorView& parameter) { found = convert(parameter, DType::f32); });
  return found;
}

Tensor read_joined(const Runner& runner, const RecurrentWeight& weight) {
  std::map<std::string, Tensor> values;
  runner.visit_parameters_named(weight.parameters, [&](const TensorView& parameter) {
    values.emplace(parameter.name, convert(parameter, DType::f32));
  });
  return join(weight, values);
}

// Parameters have no dynamic axes.
Shape shape_of(const TensorSpec& parameter) {
  Shape shape;
  for (const Dim& dim : parameter.shape) shape.push_back(dim.size);
  return shape;
}

Vectors read_vectors(const Runner& runner, std::span<const std::string> names) {
  Vectors vectors;
  runner.visit_parameters_named(names, [&](const TensorView& parameter) {
    vectors.emplace(parameter.name, to_f64(parameter));
  });
  return vectors;
}

// Only the first call is renamed: leaves name further calls differently.
WatchedTensor as_leaf(WatchedTensor watched) {
  if (watched.module.empty() || watched.call > 0 || !watched.type.starts_with("aten."))
    return watched;
  const auto names = [&](std::string_view part) {
    return watched.type.find(part) != std::string::npos;
  };
  std::string type;
  if (names("batch_norm")) type = "BatchNorm";
  if (names("convolution")) type = watched.constants["transposed"] != 0 ? "ConvTranspose" : "Conv";
  if (watched.type == "aten.addmm" || watched.type == "aten.mm") type = "Linear";
  if (type.empty()) return watched;
  watched.name = watched.module;
  watched.type = type;
  return watched;
}

}  // namespace

std::vector<WatchedTensor> leaves_of(const Runner& runner) {
  std::vector<WatchedTensor> leaves = runner.watched();
  std::ranges::transform(leaves, leaves.begin(), as_leaf);
  return leaves;
}

std::vector<ModelWeight> weights_of(const ModelIndex& index, bool any_table) {
  return WeightList(index, any_table).take();
}

std::vector<ModelWeight> parameters_of(const Runner& runner) {
  const std::vector<TensorSpec> parameters = runner.parameters();
  std::vector<ModelWeight> weights;
  std::unordered_set<std::string> joined;
  for (const RecurrentWeight& weight : recurrent_weights(parameters)) {
    joined.insert(weight.parameters.begin(), weight.parameters.end());
    weights.push_back({.name = weight.name,
                       .shape = weight.shape,
                       .stored = DType::f32,
                       .read = [&runner, weight] { return read_joined(runner, weight); },
                       .aliases = {weight.name}});
  }
  std::vector<std::string> vector_names;
  for (const TensorSpec& parameter : parameters) {
    const Shape shape = shape_of(parameter);
    if (!is_float(parameter.dtype) || element_count(shape) == 0 || joined.contains(parameter.name))
      continue;
    if (shape.size() == 1) vector_names.push_back(parameter.name);
    if (shape.size() < 2) continue;
    weights.push_back(
        {.name = parameter.name,
         .shape = shape,
         .stored = parameter.dtype,
         .read = [&runner, name = parameter.name] { return read_parameter(runner, name); },
         .aliases = {parameter.name},
         .input = holder_of(parameter.name)});
  }
  const auto vectors = read_vectors(runner, vector_names);
  const std::vector<WatchedTensor> leaves = leaves_of(runner);
  const bool has_norms = std::ranges::any_of(
      vectors, [](const auto& entry) { return entry.first.ends_with(".running_var"); });
  if (has_norms && leaves.empty()) return {};
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto weight = std::ranges::find(weights, leaves[i].name + ".weight", &ModelWeight::name);
    if (weight == weights.end()) continue;
    weight->transposes = leaves[i].type.starts_with("ConvTranspose");
    if (leaves[i].type == "Linear") weight->output_axis = 0;
    if (const auto bias = vectors.find(leaves[i].name + ".bias"); bias != vectors.end())
      weight->bias = bias->second;
    if (i + 1 == leaves.size()) continue;
    if (auto norm = norm_of(leaves[i + 1], weight->transposes ? 1 : 0, vectors))
      weight->folds = {*std::move(norm)};
  }
  return weights;
}

}  // namespace vernier
