#include "vernier/analysis/evidence/recurrent_weights.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <charconv>

#include "vernier/model/graph.h"
#include "vernier/model/scope.h"

namespace vernier {
namespace {

constexpr std::string_view first_weight = "weight_ih_l";
constexpr std::string_view reverse_suffix = "_reverse";

const TensorSpec* parameter_named(std::span<const TensorSpec> parameters, const std::string& name) {
  const auto found = std::ranges::find(parameters, name, &TensorSpec::name);
  return found == parameters.end() ? nullptr : &*found;
}

// One layer of a module: "lstm." and 0.
struct RecurrentLayer {
  std::string module;
  int number = 0;
  std::string named(std::string_view kind, std::string_view direction = "") const {
    return fmt::format("{}{}_l{}{}", module, kind, number, direction);
  }
};

// The layer whose weight_ih this is; nullopt for other parameters.
std::optional<RecurrentLayer> layer_of(const std::string& parameter) {
  const std::size_t dot = parameter.rfind('.') + 1;
  const std::string_view role = std::string_view(parameter).substr(dot);
  if (!role.starts_with(first_weight)) return std::nullopt;
  RecurrentLayer layer{parameter.substr(0, dot)};
  const char* end = role.data() + role.size();
  const auto [rest, error] = std::from_chars(role.data() + first_weight.size(), end, layer.number);
  return error == std::errc() && rest == end ? std::optional(layer) : std::nullopt;
}

// The gate order, by rows / columns of the recurrent weight; empty if this is no RNN, GRU or LSTM.
std::vector<int> gates_of(const TensorSpec* recurrent) {
  if (!recurrent || recurrent->shape.size() != 2 || recurrent->shape[1].size <= 0) return {};
  const std::int64_t rows = recurrent->shape[0].size, hidden = recurrent->shape[1].size;
  if (rows == hidden) return {0};
  if (rows == 3 * hidden) return {1, 0, 2};
  if (rows == 4 * hidden) return {0, 3, 1, 2};
  return {};
}

// Adds the operand at that input, unless a parameter is missing. Its shape is that of the first
// parameter with the directions in front.
void add_operand(std::vector<RecurrentWeight>& found, std::span<const TensorSpec> parameters,
                 const RecurrentLayer& layer, const std::vector<int>& gates, int input) {
  static const std::map<int, std::vector<std::string_view>> kinds_of = {
      {1, {"weight_ih"}}, {2, {"weight_hh"}}, {3, {"bias_ih", "bias_hh"}}};
  const auto& kinds = kinds_of.at(input);
  RecurrentWeight weight{.name = layer.module + recurrent_role(input, layer.number),
                         .gates = gates};
  std::int64_t directions = 0;
  for (const std::string_view direction : {std::string_view(), reverse_suffix}) {
    if (!parameter_named(parameters, layer.named("weight_ih", direction))) continue;
    ++directions;
    for (const std::string_view kind : kinds) {
      weight.parameters.push_back(layer.named(kind, direction));
      const TensorSpec* spec = parameter_named(parameters, weight.parameters.back());
      if (!spec) return;
      if (!weight.shape.empty()) continue;
      for (const Dim& dim : spec->shape) weight.shape.push_back(dim.size);
      weight.shape[0] *= std::ssize(kinds);
    }
  }
  weight.shape.insert(weight.shape.begin(), directions);
  found.push_back(std::move(weight));
}

}  // namespace

std::vector<RecurrentWeight> recurrent_weights(std::span<const TensorSpec> parameters) {
  std::vector<RecurrentWeight> found;
  for (const TensorSpec& parameter : parameters) {
    const auto layer = layer_of(parameter.name);
    if (!layer || !is_float(parameter.dtype) || parameter.shape.size() != 2 ||
        parameter_named(parameters, layer->named("weight_hr")))
      continue;
    const std::vector<int> gates = gates_of(parameter_named(parameters, layer->named("weight_hh")));
    if (gates.empty()) continue;
    for (const int input : {1, 2, 3}) add_operand(found, parameters, *layer, gates, input);
  }
  return found;
}

Tensor join(const RecurrentWeight& weight, const std::map<std::string, Tensor>& values) {
  Tensor joined{.name = weight.name,
                .dtype = values.at(weight.parameters.front()).dtype,
                .shape = weight.shape};
  for (const std::string& name : weight.parameters) {
    const std::vector<std::byte>& bytes = values.at(name).bytes;
    const auto gate = static_cast<std::ptrdiff_t>(bytes.size() / weight.gates.size());
    for (const int number : weight.gates)
      joined.bytes.insert(joined.bytes.end(), bytes.begin() + number * gate,
                          bytes.begin() + (number + 1) * gate);
  }
  return joined;
}

bool is_recurrent_operator(const NodeProto& node) {
  return is_op(node, "LSTM") || is_op(node, "GRU") || is_op(node, "RNN") ||
         node.op_type() == "DynamicQuantizeLSTM";
}

std::string recurrent_role(int input, int layer) {
  if (input == 1) return fmt::format("weight_ih_l{}", layer);
  if (input == 2) return fmt::format("weight_hh_l{}", layer);
  if (input == 3) return fmt::format("bias_ih_l{0}, bias_hh_l{0}", layer);
  return "";
}

std::map<std::string, std::string> recurrent_names(const ModelIndex& model) {
  std::map<std::string, std::string> names;
  std::map<std::string, int> layers;  // layers found so far, by module
  for (const GraphIndex& graph : model.graphs())
    for (const auto& node : graph.graph().node()) {
      if (!is_recurrent_operator(node)) continue;
      const std::string module = module_path(node);
      const int layer = layers[module]++;
      for (const int input : {1, 2, 3}) {
        const std::string operand = input_name(node, input);
        const std::string role = recurrent_role(input, layer);
        const WeightSource source = graph.weight_source(operand);
        const std::string stored =
            source && !source.stored->name().empty() ? source.stored->name() : operand;
        names[stored] = module.empty() ? role : fmt::format("{}.{}", module, role);
      }
    }
  return names;
}

}  // namespace vernier
