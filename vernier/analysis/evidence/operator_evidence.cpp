#include "vernier/analysis/evidence/operator_evidence.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unordered_set>
#include <vector>

#include "vernier/analysis/evidence/gelu.h"
#include "vernier/analysis/pairing/counterpart.h"
#include "vernier/model/index.h"
#include "vernier/model/quantization.h"
#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

// Operators of one kind can compute each other; `worth` is how many simple ones make up this one.
enum class Kind { clip, slope, exponential, smooth, softmax };
struct Activation {
  std::string_view op;
  Kind kind;
  int worth = 1;
};
constexpr std::array<Activation, 28> activations = {{{"Relu", Kind::clip},
                                                     {"Clip", Kind::clip},
                                                     {"HardSigmoid", Kind::clip},
                                                     {"HardSwish", Kind::clip},
                                                     {"LeakyRelu", Kind::slope},
                                                     {"PRelu", Kind::slope},
                                                     {"Elu", Kind::exponential},
                                                     {"Selu", Kind::exponential},
                                                     {"Celu", Kind::exponential},
                                                     {"Sigmoid", Kind::smooth},
                                                     {"Swish", Kind::smooth},
                                                     {"Tanh", Kind::smooth},
                                                     {"Erf", Kind::smooth},
                                                     {"Gelu", Kind::smooth},
                                                     {"BiasGelu", Kind::smooth},
                                                     {"FastGelu", Kind::smooth},
                                                     {"QuickGelu", Kind::smooth},
                                                     {"BiasSplitGelu", Kind::smooth},
                                                     {"Softplus", Kind::smooth},
                                                     {"Mish", Kind::smooth, 2},
                                                     {"Softmax", Kind::softmax},
                                                     {"LogSoftmax", Kind::softmax},
                                                     {"BiasSoftmax", Kind::softmax},
                                                     {"Attention", Kind::softmax},
                                                     {"QAttention", Kind::softmax},
                                                     {"MultiHeadAttention", Kind::softmax},
                                                     {"PackedAttention", Kind::softmax},
                                                     {"GroupQueryAttention", Kind::softmax}}};

// Operators of other domains that contain no activation function.
constexpr std::array<std::string_view, 13> plain_operators = {"QuantizeLinear",
                                                              "DequantizeLinear",
                                                              "QGemm",
                                                              "MatMulNBits",
                                                              "MatMulIntegerToFloat",
                                                              "DynamicQuantizeMatMul",
                                                              "DynamicQuantizeLSTM",
                                                              "FusedMatMul",
                                                              "TransposeMatMul",
                                                              "SkipLayerNormalization",
                                                              "SkipSimplifiedLayerNormalization",
                                                              "EmbedLayerNormalization",
                                                              "RotaryEmbedding"};

// Operators that pass on values, or a mean or maximum of them: their output is never negative if
// their input is not.
constexpr std::array<std::string_view, 16> carriers = {
    "Identity", "Reshape", "Flatten", "Transpose",   "Squeeze",           "Unsqueeze",
    "MaxPool",  "Dropout", "Slice",   "AveragePool", "GlobalAveragePool", "GlobalMaxPool",
    "Split",    "Concat",  "Resize",  "Cast"};

std::string_view without_prefix(std::string_view op) {
  constexpr std::string_view prefix = "QLinear";
  return op.starts_with(prefix) ? op.substr(prefix.size()) : op;
}

// The activation that the node computes, alone or fused (FusedConv); null if none.
const Activation* activation_of(const NodeProto& node) {
  const std::string fused = attribute_string(node, "activation", "");
  const std::string_view op = fused.empty() ? without_prefix(node.op_type()) : fused;
  const auto found = std::ranges::find(activations, op, &Activation::op);
  return found == activations.end() ? nullptr : &*found;
}

// A Relu behind a Relu or Sigmoid, or one that only a Clip reads: optimisers remove it.
bool is_redundant(const GraphIndex& graph, const NodeProto& node) {
  if (!is_op(node, "Relu")) return false;
  if (graph.has_one_reader(node.output(0)) && is_op(*graph.consumers(node.output(0))[0], "Clip"))
    return true;
  const NodeProto* producer = graph.producer(node.input(0));
  while (producer && is_one_of(*producer, carriers) && producer->input_size() == 1)
    producer = graph.producer(producer->input(0));
  return producer && (is_op(*producer, "Relu") || is_op(*producer, "Sigmoid"));
}

// The nodes of a graph that its outputs depend on.
std::unordered_set<const NodeProto*> live_nodes(const GraphIndex& graph) {
  std::unordered_set<const NodeProto*> live;
  std::vector<std::string> open;
  for (const auto& output : graph.graph().output()) open.push_back(output.name());
  while (!open.empty()) {
    const NodeProto* node = graph.defines(open.back()) ? graph.producer(open.back()) : nullptr;
    open.pop_back();
    if (!node || !live.insert(node).second) continue;
    open.insert(open.end(), node->input().begin(), node->input().end());
    for (std::string& name : captured_names(*node)) open.push_back(std::move(name));
  }
  return live;
}

struct Written {
  std::string tensor, op;
};

// The activation functions of a model.
struct Counted {
  std::map<Kind, std::int64_t> worth;
  std::map<Kind, std::vector<Written>> written;
  std::set<std::string> foreign;  // operators that may contain more of them
};

Counted count_activations(const ModelIndex& model) {
  Counted counted;
  for (const GraphIndex& graph : model.graphs()) {
    const auto live = live_nodes(graph);
    std::set<std::string> seen;  // two of the same op and input count once
    for (const NodeProto& node : graph.graph().node()) {
      if (!live.contains(&node)) continue;
      const Activation* activation = activation_of(node);
      const bool foreign = !is_op(node, node.op_type());
      if (!activation && foreign && !node.op_type().starts_with("QLinear") &&
          !is_one_of(node, plain_operators))
        counted.foreign.insert(node.domain() + "." + node.op_type());
      if (!activation || is_redundant(graph, node) ||
          !seen.insert(node.op_type() + " " + input_name(node, 0)).second)
        continue;
      counted.worth[activation->kind] += activation->worth;
      counted.written[activation->kind].push_back(
          {graph.label(node.output(0)), std::string(activation->op)});
    }
  }
  return counted;
}

// Whether the quantizer has no values beyond the bounds of the Clip that it replaces, rounded.
bool replaces_clip(const ModelIndex& reference, const ModelIndex& model,
                   const QuantizedActivation& activation, const RealRange& range) {
  const auto folded =
      fold_clip(reference, model, activation, find_counterpart(reference, activation)).folded;
  return folded && range.low >= folded->low - range.step && range.high <= folded->high + range.step;
}

// The quantizers that act as an activation: without negative codes on a tensor that may be
// negative, or in the place of a Clip of the reference.
std::int64_t clipping_quantizers(const ModelIndex& reference, const ModelIndex& model) {
  std::set<std::string> tensors;  // a set, since nodes may have no names
  for (const QuantizedActivation& activation : find_quantization(model).activations) {
    if (activation.dynamic || activation.writer_op.empty()) continue;
    const auto range = representable_range(activation.quantizer);
    if (!range || (range->low < 0 && !replaces_clip(reference, model, activation, *range)))
      continue;
    const std::string_view op = without_prefix(activation.writer_op);
    const bool keeps_sign =
        std::ranges::find(carriers, op) != carriers.end() ||
        std::ranges::find(activations, op, &Activation::op) != activations.end();
    if (!keeps_sign)
      tensors.insert(activation.before.empty() ? activation.stored : activation.before);
  }
  return std::ssize(tensors);
}

// The first activation that is missing, if names tell which are; otherwise only its operator.
Written first_missing(const std::vector<Written>& expected, const std::vector<Written>& found,
                      std::int64_t missing) {
  std::vector<Written> absent;
  for (const Written& written : expected)
    if (std::ranges::find(found, written.tensor, &Written::tensor) == found.end())
      absent.push_back(written);
  return std::ssize(absent) == missing ? absent.front() : Written{"", expected.front().op};
}

}  // namespace

std::optional<MissingActivations> find_missing_activations(const ModelIndex& reference,
                                                           const ModelIndex& candidate) {
  if (reference.graphs().size() != candidate.graphs().size()) return std::nullopt;
  if (reference.model().proto().functions_size() > 0 ||
      candidate.model().proto().functions_size() > 0)
    return std::nullopt;
  Counted expected = count_activations(reference), found = count_activations(candidate);
  if (!std::ranges::includes(expected.foreign, found.foreign)) return std::nullopt;
  for (const auto& [kind, worth] : expected.worth) {
    MissingActivations missing{.reference = worth, .candidate = found.worth[kind]};
    if (missing.candidate >= worth) continue;
    if (kind == Kind::clip) missing.quantizers = clipping_quantizers(reference, candidate);
    const std::int64_t rest = worth - missing.candidate - missing.quantizers;
    if (rest <= 0) continue;
    const Written first = first_missing(expected.written[kind], found.written[kind], rest);
    missing.op = first.op;
    missing.tensor = first.tensor;
    return missing;
  }
  return std::nullopt;
}

namespace {

// A cast between float types: a candidate in half precision has more of them.
bool is_float_cast(const NodeProto& node) {
  const auto to = is_op(node, "Cast") ? attribute_int(node, "to", 0) : 0;
  return to == TensorProto::FLOAT || to == TensorProto::FLOAT16 || to == TensorProto::BFLOAT16;
}

// The live nodes in file order, without constants and pass-through nodes.
std::vector<const NodeProto*> computing_nodes(const GraphIndex& graph) {
  const auto live = live_nodes(graph);
  std::vector<const NodeProto*> nodes;
  for (const NodeProto& node : graph.graph().node())
    if (live.contains(&node) && !is_op(node, "Constant") && !is_op(node, "Identity") &&
        !is_op(node, "Dropout") && !is_float_cast(node))
      nodes.push_back(&node);
  return nodes;
}

bool has_other_attribute(const NodeProto& expected, const NodeProto& found) {
  for (const AttributeProto& value : expected.attribute()) {
    const AttributeProto* other = attribute(found, value.name());
    if (!other || value.type() != other->type()) continue;  // one of them may omit a default
    if (value.name() == "to" || value.name() == "dtype") continue;  // differs with the precision
    const bool is_other = value.type() == AttributeProto::FLOAT    ? value.f() != other->f()
                          : value.type() == AttributeProto::INT    ? value.i() != other->i()
                          : value.type() == AttributeProto::STRING ? value.s() != other->s()
                          : value.type() == AttributeProto::INTS
                              ? !std::ranges::equal(value.ints(), other->ints())
                              : false;
    if (is_other) return true;
  }
  return false;
}

// Whether a constant is the reference's: within rounding, and in half precision also where a number
// beyond its range, as a mask holds, was clamped.
bool is_same_number(double reference, double candidate, bool half) {
  if (!half) return std::abs(reference - candidate) <= 1e-4 * std::abs(reference);
  constexpr double large = 1e4;
  if (std::abs(reference) >= large && std::abs(candidate) >= large)
    return std::signbit(reference) == std::signbit(candidate);
  return std::abs(reference - candidate) <= 5e-3 * std::abs(reference) + 1e-6;
}

// Compares small float constants that are not weights: bounds, masks, factors. Constants of shapes
// may differ and mean the same.
bool has_other_constant(const GraphIndex& expected, const NodeProto& expected_node,
                        const GraphIndex& found, const NodeProto& found_node) {
  constexpr std::int64_t most_elements = 16;
  for (int i = 0; i < std::min(expected_node.input_size(), found_node.input_size()); ++i) {
    const auto* wanted = expected.constant(expected_node.input(i));
    const auto* given = found.constant(found_node.input(i));
    if (!wanted || !given || dtype_of(*wanted) != DType::f32 || !is_float(dtype_of(*given)))
      continue;
    const std::int64_t elements = element_count(dims_of(*wanted));
    if (elements > most_elements || element_count(dims_of(*given)) != elements) continue;
    const auto first = expected.numbers(expected_node.input(i));
    const auto second = found.numbers(found_node.input(i));
    if (!first || !second) continue;
    const bool half = dtype_of(*given) != DType::f32;
    for (std::size_t j = 0; j < first->size(); ++j)
      if (!is_same_number((*first)[j], (*second)[j], half)) return true;
  }
  return false;
}

}  // namespace

std::string find_other_node(const ModelIndex& reference, const ModelIndex& candidate) {
  const GraphIndex &expected = reference.main(), &found = candidate.main();
  const std::vector<FoundGelu> gelus = find_gelus(expected);
  const auto tanh = std::ranges::count(gelus, GeluForm::tanh, &FoundGelu::form);
  if (const NodeProto* other = find_other_gelu(std::ssize(gelus) - tanh, tanh, found))
    return node_label(*other);
  const std::vector<const NodeProto*> wanted = computing_nodes(expected),
                                      nodes = computing_nodes(found);
  if (wanted.size() != nodes.size()) return "";
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (wanted[i]->op_type() != nodes[i]->op_type() &&
        !(activation_of(*wanted[i]) && activation_of(*nodes[i])))
      return "";
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (wanted[i]->op_type() != nodes[i]->op_type() || has_other_attribute(*wanted[i], *nodes[i]) ||
        has_other_constant(expected, *wanted[i], found, *nodes[i]))
      return node_label(*nodes[i]);
  return "";
}

}  // namespace vernier
