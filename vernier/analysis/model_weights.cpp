#include "vernier/analysis/model_weights.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <map>
#include <unordered_set>

#include "vernier/model/onnx_type.h"
#include "vernier/model/quantization.h"
#include "vernier/runtime/runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;
using vernier_onnx::TensorProto;

// The axis of output channels of the weight that the node reads at `input`; -1 if it has none.
int channel_axis(const NodeProto& node, int input) {
  if (input != 1) return -1;
  if (is_op(node, "Conv")) return 0;
  if (is_op(node, "ConvTranspose")) return 1;
  if (is_op(node, "Gemm")) return attribute_int(node, "transB", 0) != 0 ? 0 : 1;
  return -1;
}

// Names without what quantizers append.
std::vector<std::string> stems(const std::string& name) {
  constexpr std::array<std::string_view, 5> suffixes = {
      "_DequantizeLinear_Output", "_QuantizeLinear_Output", "_quantized", "_fake_quantized", "_Q4"};
  std::vector<std::string> names = {name};
  for (const std::string_view suffix : suffixes)
    if (name.ends_with(suffix)) names.push_back(name.substr(0, name.size() - suffix.size()));
  return names;
}

class WeightList {
 public:
  WeightList(const ModelIndex& index, bool any_table) : index_(index) {
    std::unordered_set<std::string> quantized;
    for (const QuantizedWeight& weight : find_quantization(index_).weights) {
      quantized.insert(weight.name);
      add_quantized(weight);
    }
    for (const Weight& weight : index_.weights())
      if (!quantized.contains(weight.name) && (any_table || is_read_as_weight(weight)))
        add_float(weight);
  }

  std::vector<ModelWeight> take() && { return std::move(weights_); }

 private:
  void add_quantized(const QuantizedWeight& weight) {
    const FoundNode* reader = index_.node(weight.reader);
    ModelWeight added{.name = weight.name,
                      .stored = weight.quantizer.dtype,
                      .quantizer = weight.quantizer,
                      .read = weight.real,
                      .aliases = stems(weight.name),
                      .transposes = reader && is_op(*reader->node, "ConvTranspose")};
    for (std::string& alias : stems(weight.real_name)) added.aliases.push_back(std::move(alias));
    weights_.push_back(std::move(added));
  }

  void add_float(const Weight& weight) {
    const TensorProto& proto = *weight.proto;
    const auto dtype = dtype_of_onnx(proto.data_type());
    Shape shape(proto.dims().begin(), proto.dims().end());
    if (!dtype || !is_float(*dtype) || shape.size() < 2 || element_count(shape) == 0) return;
    weights_.push_back({.name = weight.name,
                        .shape = std::move(shape),
                        .stored = *dtype,
                        .read = [&model = index_.model(),
                                 &proto] { return convert(model.view(proto), DType::f32); },
                        .fold = fold_behind(*weight.graph, weight.name),
                        .bias = bias_beside(*weight.graph, weight.name),
                        .aliases = {weight.name},
                        .transposes = is_read_by(weight, {"ConvTranspose"}),
                        .recurrent = is_read_by(weight, {"LSTM", "GRU", "RNN"})});
  }

  // Scales, masks and tables that shapes are made of are none.
  static bool is_read_as_weight(const Weight& weight) {
    return is_read_by(weight, {"Conv", "ConvTranspose", "Gemm", "MatMul", "Gather", "LSTM", "GRU",
                               "RNN", "Transpose", "Cast", "If", "Loop", "Scan"});
  }

  static bool is_read_by(const Weight& weight, std::initializer_list<std::string_view> ops) {
    return std::ranges::any_of(weight.graph->consumers(weight.name), [&](const NodeProto* reader) {
      return std::ranges::find(ops, reader->op_type()) != ops.end();
    });
  }

  // The third input of its only reader.
  static std::vector<double> bias_beside(const GraphIndex& index, const std::string& name) {
    const auto readers = index.consumers(name);
    if (readers.size() != 1 || channel_axis(*readers[0], 1) < 0) return {};
    return index.numbers(input_name(*readers[0], 2)).value_or(std::vector<double>());
  }

  // Of the batch norm that alone reads what the weight's only reader writes.
  std::optional<ChannelScale> fold_behind(const GraphIndex& index, const std::string& name) const {
    const auto readers = index.consumers(name);
    if (readers.size() != 1 || readers[0]->output_size() == 0) return std::nullopt;
    const auto at = std::ranges::find(readers[0]->input(), name);
    const int axis = channel_axis(*readers[0], static_cast<int>(at - readers[0]->input().begin()));
    const auto next = index.consumers(readers[0]->output(0));
    if (axis < 0 || next.size() != 1 || !is_op(*next[0], "BatchNormalization")) return std::nullopt;
    const NodeProto& norm = *next[0];
    const TensorProto* scale = norm.input_size() == 5 ? index.initializer(norm.input(1)) : nullptr;
    const TensorProto* variance = scale ? index.initializer(norm.input(4)) : nullptr;
    if (!variance) return std::nullopt;
    ChannelScale fold{axis, to_f64(index_.model().tensor(*scale))};
    const std::vector<double> variances = to_f64(index_.model().tensor(*variance));
    const double epsilon = attribute_float(norm, "epsilon", 1e-5F);
    if (variances.size() != fold.factors.size()) return std::nullopt;
    for (std::size_t i = 0; i < variances.size(); ++i)
      fold.factors[i] /= std::sqrt(variances[i] + epsilon);
    add_shifts(fold, index.numbers(norm.input(2)), index.numbers(norm.input(3)));
    return fold;
  }

  static void add_shifts(ChannelScale& fold, const std::optional<std::vector<double>>& biases,
                         const std::optional<std::vector<double>>& means) {
    const std::size_t channels = fold.factors.size();
    if (!biases || !means || biases->size() != channels || means->size() != channels) return;
    for (std::size_t i = 0; i < channels; ++i)
      fold.shifts.push_back((*biases)[i] - (*means)[i] * fold.factors[i]);
  }

  const ModelIndex& index_;
  std::vector<ModelWeight> weights_;
};

// What the batch norm does that a leaf is; nothing for other leaves.
std::optional<std::vector<double>> norm_factors(
    const WatchedTensor& leaf, const std::map<std::string, std::vector<double>>& vectors) {
  const auto variance = vectors.find(leaf.name + ".running_var");
  const auto epsilon = leaf.constants.find("eps");
  if (variance == vectors.end() || epsilon == leaf.constants.end()) return std::nullopt;
  const auto weight = vectors.find(leaf.name + ".weight");
  std::vector<double> factors =
      weight == vectors.end() ? std::vector(variance->second.size(), 1.0) : weight->second;
  if (factors.size() != variance->second.size()) return std::nullopt;
  for (std::size_t i = 0; i < factors.size(); ++i)
    factors[i] /= std::sqrt(variance->second[i] + epsilon->second);
  return factors;
}

// Reads a parameter when it is wanted, so that no second copy of all is held.
Tensor read_parameter(const Runner& runner, const std::string& name) {
  Tensor found;
  runner.visit_parameters_named(
      {&name, 1}, [&](const TensorView& parameter) { found = convert(parameter, DType::f32); });
  return found;
}

// A parameter has no dynamic axis.
Shape shape_of(const TensorSpec& parameter) {
  Shape shape;
  for (const Dim& dim : parameter.shape) shape.push_back(dim.size);
  return shape;
}

std::map<std::string, std::vector<double>> read_vectors(const Runner& runner,
                                                        std::span<const std::string> names) {
  std::map<std::string, std::vector<double>> vectors;
  runner.visit_parameters_named(names, [&](const TensorView& parameter) {
    vectors.emplace(parameter.name, to_f64(parameter));
  });
  return vectors;
}

}  // namespace

std::vector<ModelWeight> weights_of(const ModelIndex& index, bool any_table) {
  return WeightList(index, any_table).take();
}

std::vector<ModelWeight> parameters_of(const Runner& runner) {
  std::vector<ModelWeight> weights;
  std::vector<std::string> vector_names;
  for (const TensorSpec& parameter : runner.parameters()) {
    const Shape shape = shape_of(parameter);
    if (!is_float(parameter.dtype) || element_count(shape) == 0) continue;
    if (shape.size() == 1) vector_names.push_back(parameter.name);
    if (shape.size() < 2) continue;
    weights.push_back(
        {.name = parameter.name,
         .shape = shape,
         .stored = parameter.dtype,
         .read = [&runner, name = parameter.name] { return read_parameter(runner, name); },
         .aliases = {parameter.name}});
  }
  const auto vectors = read_vectors(runner, vector_names);
  const std::vector<WatchedTensor> leaves = runner.watched();
  const bool has_norms = std::ranges::any_of(
      vectors, [](const auto& entry) { return entry.first.ends_with(".running_var"); });
  if (has_norms && leaves.empty()) return {};
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto weight = std::ranges::find(weights, leaves[i].name + ".weight", &ModelWeight::name);
    if (weight == weights.end()) continue;
    weight->transposes = leaves[i].type.starts_with("ConvTranspose");
    if (i + 1 == leaves.size()) continue;
    if (auto factors = norm_factors(leaves[i + 1], vectors))
      weight->fold = ChannelScale{weight->transposes ? 1 : 0, *std::move(factors)};
  }
  return weights;
}

}  // namespace vernier
