#include "vernier/analysis/evidence/bias_evidence.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "vernier/analysis/evidence/float_weights.h"
#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/model/index.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// A stored bias: the operator adds stored[i] * scale(i).
struct Bias {
  std::string name;
  std::vector<double> stored, scales;
  std::string input = {}, input_scale = {};  // only of an integer operator

  double scale(std::size_t i) const { return scales[scales.size() == 1 ? 0 : i]; }
};

// Input positions of a node's weight and bias, and of an integer operator's two scales.
struct Place {
  int weight = 1, bias = 2;
  std::vector<int> scales = {};
};

std::optional<Place> place_in(const NodeProto& node) {
  if (is_op(node, "Conv") || is_op(node, "ConvTranspose")) return Place{};
  if (is_op(node, "Gemm") && attribute_float(node, "beta", 1) == 1) return Place{};
  if (is_op(node, "QLinearConv")) return Place{3, 8, {1, 4}};
  if (node.op_type() == "QGemm") return Place{3, 6, {1, 4}};
  return std::nullopt;
}

// Input scale times weight scales; nullopt if the input has more than one scale.
std::optional<std::vector<double>> product(const std::vector<double>& first,
                                           const std::vector<double>& second) {
  if (first.size() != 1) return std::nullopt;
  std::vector<double> products = second;
  for (double& value : products) value *= first[0];
  return products;
}

// The node's stored bias and its scales; nullopt if the bias is computed.
std::optional<Bias> stored_bias(const GraphIndex& graph, const NodeProto& node,
                                const Place& place) {
  std::string name = node.input(place.bias);
  std::optional<std::vector<double>> scales = std::vector{1.0};
  if (!place.scales.empty()) {
    const auto first = graph.numbers(node.input(place.scales[0]));
    const auto second = graph.numbers(node.input(place.scales[1]));
    scales = first && second ? product(*first, *second) : std::nullopt;
  } else if (const NodeProto* writer = graph.producer(name);
             writer && is_op(*writer, "DequantizeLinear")) {
    name = writer->input(0);
    scales = graph.numbers(writer->input(1));
  }
  if (!graph.initializer(name) || !scales) return std::nullopt;
  const auto stored = graph.numbers(name);
  if (!stored || (scales->size() != 1 && scales->size() != stored->size())) return std::nullopt;
  Bias bias{.name = name, .stored = *stored, .scales = *scales};
  if (!place.scales.empty()) {
    bias.input = node.input(0);
    bias.input_scale = node.input(place.scales[0]);
  }
  return bias;
}

// Whether a BatchNormalization reads the layer's output.
bool has_norm_behind(const GraphIndex& graph, const NodeProto& node) {
  const auto readers = graph.consumers(node.output(0));
  return std::ranges::any_of(
      readers, [](const NodeProto* reader) { return is_op(*reader, "BatchNormalization"); });
}

using Biases = std::multimap<std::string, Bias>;

// The biases of a model's layers, by the name of the stored weight of the layer. A layer that is
// called twice may have two: each in steps of its call's input scale.
Biases biases_of(const ModelIndex& model) {
  Biases biases;
  std::set<std::pair<std::string, std::string>> known;  // (weight, bias)
  for (const GraphIndex& graph : model.graphs())
    for (const NodeProto& node : graph.graph().node()) {
      const auto place = place_in(node);
      if (!place || node.input_size() <= place->bias || has_norm_behind(graph, node)) continue;
      const WeightSource weight = graph.weight_source(node.input(place->weight));
      auto bias = weight ? stored_bias(graph, node, *place) : std::nullopt;
      if (bias && known.emplace(weight.stored->name(), bias->name).second)
        biases.emplace(weight.stored->name(), *std::move(bias));
    }
  return biases;
}

double sqnr_of(const Bias& reference, const Bias& candidate) {
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < reference.stored.size(); ++i) {
    const double expected = reference.stored[i] * reference.scale(i);
    const double difference = expected - candidate.stored[i] * candidate.scale(i);
    signal += expected * expected;
    noise += difference * difference;
  }
  return 10 * std::log10(signal / noise);
}

// The reference's and the candidate's bias of a layer whose weights are the same.
struct BiasPair {
  Bias reference, candidate;
};

std::vector<BiasPair> pair_biases(const ModelIndex& reference, const ModelIndex& candidate,
                                  const WeightEvidence& weights) {
  const Biases expected = biases_of(reference), found = biases_of(candidate);
  std::vector<BiasPair> pairs;
  for (const PairedWeight& weight : weights.weights) {
    if (!weight.same || expected.count(weight.reference) != 1) continue;
    const Bias& right = expected.find(weight.reference)->second;
    const auto [first, last] = found.equal_range(weight.candidate);
    for (auto each = first; each != last; ++each)
      if (each->second.stored.size() == right.stored.size()) pairs.push_back({right, each->second});
  }
  return pairs;
}

std::vector<BiasPair> pair_biases(const std::map<std::string, FloatWeight>& weights,
                                  const ModelIndex& candidate) {
  std::vector<BiasPair> pairs;
  for (const auto& [name, bias] : biases_of(candidate)) {
    const auto weight = weights.find(name);
    if (weight == weights.end() || weight->second.biases.size() != 1) continue;
    Bias right{.name = name, .stored = to_f64(weight->second.biases[0]), .scales = {1}};
    if (bias.stored.size() == right.stored.size()) pairs.push_back({std::move(right), bias});
  }
  return pairs;
}

constexpr double clear_factor = 1.05;  // a factor closer to 1 is no change
constexpr double clear_steps = 20;     // steps from which an element is precise enough
constexpr std::ptrdiff_t least_clear = 2;

// The factor f if, within rounding, candidate = f * reference for every element; nullopt if not, or
// if fewer than `least_clear` elements are precise enough.
std::optional<double> common_factor(const BiasPair& pair) {
  const Bias &reference = pair.reference, &candidate = pair.candidate;
  double product = 0, squares = 0;
  for (std::size_t i = 0; i < reference.stored.size(); ++i) {
    const double expected = reference.stored[i] * reference.scale(i);
    product += expected * candidate.stored[i] * candidate.scale(i);
    squares += expected * expected;
  }
  const double factor = product / squares;
  if (!(factor > 0) || std::ranges::count_if(candidate.stored, [](double steps) {
                         return std::abs(steps) >= clear_steps;
                       }) < least_clear)
    return std::nullopt;
  for (std::size_t i = 0; i < reference.stored.size(); ++i) {
    const double expected = factor * reference.stored[i] * reference.scale(i);
    const double difference = expected - candidate.stored[i] * candidate.scale(i);
    if (!(std::abs(difference) <= candidate.scale(i) + 0.001 * std::abs(expected)))
      return std::nullopt;
  }
  return factor;
}

bool is_clear(double factor) { return std::abs(std::log(factor)) > std::log(clear_factor); }

// Values in units of the candidate's scales; few or small ones agree by accident.
bool is_misplaced(const std::vector<double>& reference, const std::vector<double>& candidate) {
  constexpr std::size_t least_elements = 4;
  const auto is_clear_code = [](double steps) { return std::abs(steps) >= clear_steps; };
  if (std::ranges::count_if(reference, is_clear_code) < least_clear) return false;
  if (std::ranges::all_of(candidate, [](double code) { return code == 0; })) return true;
  const auto is_rounded = [](double expected, double found) {
    return std::abs(expected - found) <= 1 + 0.001 * std::abs(expected);
  };
  if (reference.size() < least_elements || std::ranges::equal(reference, candidate, is_rounded))
    return false;
  std::vector<double> expected = reference, found = candidate;
  std::ranges::sort(expected);
  std::ranges::sort(found);
  return std::ranges::equal(expected, found, is_rounded);
}

std::vector<OtherBias> others_of(const std::vector<BiasPair>& pairs, double least_db) {
  std::vector<OtherBias> others;
  for (const BiasPair& pair : pairs) {
    const auto& [right, stored] = pair;
    const double db = sqnr_of(right, stored);
    const auto factor = common_factor(pair);
    if (!(db < least_db) && !(factor && is_clear(*factor))) continue;
    OtherBias other{.candidate = stored.name, .sqnr_db = db};
    for (std::size_t i = 0; i < right.stored.size(); ++i)
      other.values.push_back(right.stored[i] * right.scale(i) / stored.scale(i));
    const bool is_integer = stored.scales != std::vector{1.0};
    other.is_misplaced = is_integer && is_misplaced(other.values, stored.stored);
    others.push_back(std::move(other));
  }
  return others;
}

}  // namespace

std::vector<OtherBias> find_other_biases(const ModelIndex& reference, const ModelIndex& candidate,
                                         const WeightEvidence& weights, double least_db) {
  return others_of(pair_biases(reference, candidate, weights), least_db);
}

std::vector<OtherBias> find_other_biases(const std::map<std::string, FloatWeight>& weights,
                                         const ModelIndex& candidate, double least_db) {
  return others_of(pair_biases(weights, candidate), least_db);
}

Model with_reference_biases(const Model& candidate, const std::vector<OtherBias>& biases) {
  Model repaired = candidate.clone();
  for (auto& weight : *repaired.graph().mutable_initializer()) {
    const auto bias = std::ranges::find(biases, weight.name(), &OtherBias::candidate);
    if (bias == biases.end()) continue;
    Tensor tensor = repaired.tensor(weight);
    if (tensor.dtype == DType::i32)
      std::ranges::transform(bias->values, elements<std::int32_t>(tensor).begin(), [](double x) {
        using Limits = std::numeric_limits<std::int32_t>;
        return static_cast<std::int32_t>(
            std::clamp<double>(std::nearbyint(x), Limits::min(), Limits::max()));
      });
    else if (tensor.dtype == DType::f32)
      std::ranges::transform(bias->values, elements<float>(tensor).begin(),
                             [](double x) { return static_cast<float>(x); });
    weight = make_tensor_proto(tensor);
  }
  return repaired;
}

std::vector<ChangedScale> find_changed_scales(const ModelIndex& reference,
                                              const ModelIndex& candidate,
                                              const WeightEvidence& weights) {
  std::vector<ChangedScale> changed;
  std::set<std::string> doubtful;  // scales that a bias does not confirm
  for (const BiasPair& pair : pair_biases(reference, candidate, weights)) {
    const std::string& scale = pair.candidate.input_scale;
    if (scale.empty()) continue;
    const auto factor = common_factor(pair);
    const auto known = std::ranges::find(changed, scale, &ChangedScale::scale);
    if (!factor || !is_clear(*factor) ||
        (known != changed.end() && is_clear(*factor / known->factor)))
      doubtful.insert(scale);
    else if (known == changed.end())
      changed.push_back({.tensor = pair.candidate.input, .scale = scale, .factor = *factor});
  }
  std::erase_if(changed, [&](const ChangedScale& each) { return doubtful.contains(each.scale); });
  return changed;
}

Model with_former_scales(const Model& candidate, const std::vector<ChangedScale>& scales) {
  Model restored = candidate.clone();
  for (auto& weight : *restored.graph().mutable_initializer()) {
    const auto scale = std::ranges::find(scales, weight.name(), &ChangedScale::scale);
    if (scale == scales.end()) continue;
    Tensor tensor = restored.tensor(weight);
    if (tensor.dtype != DType::f32) continue;
    for (float& value : elements<float>(tensor)) value = static_cast<float>(value / scale->factor);
    weight = make_tensor_proto(tensor);
  }
  return restored;
}

}  // namespace vernier
