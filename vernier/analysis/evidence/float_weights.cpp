#include "vernier/analysis/evidence/float_weights.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

#include "vernier/analysis/evidence/model_weights.h"
#include "vernier/analysis/evidence/paired_weight.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// The layer's bias with `fold` applied; nullopt if it has none or it is unknown.
std::optional<Tensor> float_bias(const ModelWeight& reference, const ChannelScale* fold) {
  std::vector<double> values = reference.bias;
  if (fold) {
    if (fold->shifts.empty()) return std::nullopt;
    values.resize(fold->shifts.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = values[i] * fold->factors[i] + fold->shifts[i];
  }
  if (values.empty()) return std::nullopt;
  Tensor bias = make_tensor("", DType::f32, {std::ssize(values)});
  std::ranges::transform(values, elements<float>(bias).begin(),
                         [](double value) { return static_cast<float>(value); });
  return bias;
}

bool leaves_weights(const ChannelScale& fold) {
  return std::ranges::all_of(fold.factors, [](double factor) { return factor == 1; });
}

// The biases that may go with a weight after `fold`. A later Add does not change the weight, so it
// may be folded into the bias as well.
std::vector<Tensor> float_biases(const ModelWeight& reference, const ChannelScale* fold) {
  std::vector<Tensor> biases;
  if (auto bias = float_bias(reference, fold)) biases.push_back(*std::move(bias));
  const std::size_t behind = fold ? fold - reference.folds.data() + 1 : 0;
  for (const ChannelScale& next : std::span(reference.folds).subspan(behind)) {
    if (!(fold ? next.factors == fold->factors : leaves_weights(next))) break;
    if (auto bias = float_bias(reference, &next)) biases.push_back(*std::move(bias));
  }
  return biases;
}

// The form of the reference's weight that is nearest; nullopt if none is the same.
std::optional<FloatWeight> same_form(const ModelWeight& reference, const ModelWeight& candidate) {
  std::optional<FloatWeight> same;
  PairedWeight best{.sqnr_db = -INFINITY};
  visit_forms(reference, candidate, candidate.read(), std::nullopt,
              [&](const TensorView& expected, const Tensor& found, const ChannelScale* fold) {
                const PairedWeight compared =
                    compare_values({}, expected, found, candidate, reference.quantizer.has_value());
                if (!compared.same || !is_better(compared, best)) return false;
                best = compared;
                same = FloatWeight{copy(expected), float_biases(reference, fold)};
                return is_certain(best);
              });
  return same;
}

std::map<std::string, FloatWeight> same_forms(const std::vector<ModelWeight>& references,
                                              const std::vector<ModelWeight>& candidates,
                                              const WeightEvidence& evidence) {
  std::map<std::string, FloatWeight> found;
  for (const PairedWeight& row : evidence.weights) {
    const auto from = std::ranges::find(references, row.reference, &ModelWeight::name);
    const auto to = std::ranges::find(candidates, row.candidate, &ModelWeight::name);
    if (!row.same || row.equalised || from == references.end() || to == candidates.end()) continue;
    if (auto weight = same_form(*from, *to)) found.emplace(row.candidate, *std::move(weight));
  }
  return found;
}

// How many nodes compute with each stored weight.
std::map<std::string, int> readers_of_weights(const ModelIndex& model) {
  std::map<std::string, int> readers;
  for (const GraphIndex& graph : model.graphs())
    for (const NodeProto& node : graph.graph().node()) {
      if (is_op(node, "DequantizeLinear") || is_op(node, "Transpose") || is_op(node, "Cast"))
        continue;
      for (const std::string& input : node.input())
        if (const WeightSource source = graph.weight_source(input))
          ++readers[source.stored->name()];
    }
  return readers;
}

// Removes the biases of weights that several nodes read or that are equal: it is unknown which call
// of a module each node is, and each call may add another bias.
void forget_shared_biases(std::map<std::string, FloatWeight>& weights,
                          const ModelIndex& candidate) {
  const std::map<std::string, int> readers = readers_of_weights(candidate);
  std::map<std::string_view, std::string> seen;  // by content
  for (auto& [name, weight] : weights) {
    const auto found = readers.find(name);
    if (found != readers.end() && found->second > 1) weight.biases.clear();
    const std::vector<std::byte>& bytes = weight.weight.bytes;
    const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto [first, is_new] = seen.emplace(content, name);
    if (is_new) continue;
    weight.biases.clear();
    weights.at(first->second).biases.clear();
  }
}

}  // namespace

std::map<std::string, FloatWeight> float_weights_of(const FloatReference& reference,
                                                    const ModelIndex& candidate,
                                                    const WeightEvidence& evidence) {
  const std::vector<ModelWeight> candidates = weights_of(candidate, false);
  if (reference.model) return same_forms(weights_of(*reference.model, true), candidates, evidence);
  if (!reference.runner) return {};
  auto found = same_forms(parameters_of(*reference.runner), candidates, evidence);
  forget_shared_biases(found, candidate);
  return found;
}

}  // namespace vernier
