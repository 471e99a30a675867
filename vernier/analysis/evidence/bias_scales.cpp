#include "vernier/analysis/evidence/bias_scales.h"

#include <vernier_onnx.pb.h>

#include <cmath>
#include <vector>

#include "vernier/model/index.h"

namespace vernier {
namespace {

constexpr double rounding = 0.01;
constexpr std::int64_t least_alike = 2;
constexpr std::int64_t alike_to_one = 2;  // biases that obey the rule, for each that breaks it

// The scales of the DequantizeLinear that writes the tensor; nullopt if another node does.
std::optional<std::vector<double>> scales_of(const GraphIndex& graph, const std::string& tensor) {
  const NodeProto* node = graph.producer(tensor);
  if (!node || node->op_type() != "DequantizeLinear") return std::nullopt;
  return graph.numbers(node->input(1));
}

// Scale of the node's bias / scale of its products, in the channel where it is furthest from 1;
// nullopt if the node has no quantized bias.
std::optional<double> bias_ratio(const GraphIndex& graph, const NodeProto& node) {
  const bool multiplies =
      is_op(node, "Conv") || is_op(node, "ConvTranspose") || is_op(node, "Gemm");
  if (!multiplies || node.input_size() < 3) return std::nullopt;
  const auto input = scales_of(graph, node.input(0)), weight = scales_of(graph, node.input(1)),
             bias = scales_of(graph, node.input(2));
  if (!input || !weight || !bias || input->size() != 1 || weight->empty()) return std::nullopt;
  if (bias->size() != weight->size() && bias->size() != 1 && weight->size() != 1)
    return std::nullopt;
  double furthest = 1;
  for (std::size_t i = 0; i < std::max(bias->size(), weight->size()); ++i) {
    const double step = (*input)[0] * (*weight)[weight->size() == 1 ? 0 : i];
    const double ratio = (*bias)[bias->size() == 1 ? 0 : i] / step;
    if (!(std::abs(std::log(ratio)) <= std::abs(std::log(furthest)))) furthest = ratio;
  }
  return furthest;
}

}  // namespace

std::optional<MismatchedBias> find_mismatched_bias(const ModelIndex& candidate) {
  std::optional<MismatchedBias> first;
  std::int64_t alike = 0, others = 0;
  for (const GraphIndex& graph : candidate.graphs())
    for (const NodeProto& node : graph.graph().node()) {
      const auto ratio = bias_ratio(graph, node);
      if (!ratio) continue;
      if (std::abs(*ratio - 1) <= rounding) {
        ++alike;
        continue;
      }
      ++others;
      if (!first) first = MismatchedBias{.tensor = graph.label(node.output(0)), .ratio = *ratio};
    }
  const bool is_rule = alike >= least_alike && alike >= alike_to_one * others;
  return is_rule ? first : std::nullopt;
}

}  // namespace vernier
