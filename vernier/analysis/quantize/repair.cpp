#include "vernier/analysis/quantize/repair.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>

#include "vernier/analysis/evidence/bias_evidence.h"
#include "vernier/analysis/evidence/weight_evidence.h"
#include "vernier/analysis/quantize/shipped.h"
#include "vernier/error.h"

namespace vernier {
namespace {

// A plan for calibrate(): the first tensor of each group of quantizers, as a root.
PlacementPlan calibration_plan(const ShippedQuantizers& shipped) {
  PlacementPlan plan;
  for (const auto& activation : shipped.activations)
    plan.tensors.push_back({.name = activation.tensors.front(), .root = plan.tensors.size()});
  return plan;
}

std::vector<PlacedNode> correctable(const GraphIndex& graph, const ShippedQuantizers& shipped) {
  std::vector<PlacedNode> nodes;
  for (const auto& node : shipped.nodes) {
    if (node.bias < 0 || node.activation.empty()) continue;
    const auto& proto = graph.graph().node(node.node);
    const TensorProto* bias = graph.initializer(graph.graph().node(node.bias).input(0));
    const bool has_channels = bias && bias->dims_size() > 0;
    nodes.push_back({.node = node.node,
                     .name = node.name,
                     .op = proto.op_type(),
                     .output = proto.output(0),
                     .channels = has_channels ? bias->dims(bias->dims_size() - 1) : 0,
                     .channel_axis = is_op(proto, "Conv") ? 1 : -1,
                     .bias_reader = ReaderInput{node.node, 2}});
  }
  return nodes;
}

// Compares models with the shipped candidate on the same samples.
class Proving {
 public:
  Proving(const Model& candidate, const Model& reference, SampleRuns samples)
      : scorer_(reference, std::move(samples)),
        shipped_(scorer_.score(candidate)),
        shipped_deployed_(scorer_.score(candidate, Arithmetic::deployed)) {}

  RepairProof prove(const Model& repaired) const {
    const OutputScore exact = scorer_.score(repaired);
    const OutputScore deployed = scorer_.score(repaired, Arithmetic::deployed);
    return {.shipped_db = shipped_.sqnr_db(),
            .repaired_db = exact.sqnr_db(),
            .gain = gain(shipped_, exact),
            .shipped_deployed_db = shipped_deployed_.sqnr_db(),
            .repaired_deployed_db = deployed.sqnr_db(),
            .deployed_gain = gain(shipped_deployed_, deployed),
            .outputs = changes_of(shipped_.noise, exact.noise)};
  }

 private:
  OutputScorer scorer_;
  OutputScore shipped_, shipped_deployed_;
};

// Fails unless all of the gain's interval is above 0.
Verdict verdict_of_gain(const char* metric, const Gain& gain) {
  const Limit limit{.metric = metric, .fails = Limit::Fails::at_or_below, .value = 0};
  const Judged repaired{.metrics = {{metric, gain.interval.low}}};
  return make_verdict({limit}, judge({&limit, 1}, {&repaired, 1}));
}

}  // namespace

std::unique_ptr<const ModelIndex> with_pairs(const ModelIndex& candidate,
                                             const ModelIndex& reference) {
  std::optional<Model> pairs = in_qdq_form(candidate);
  if (!pairs) return nullptr;
  const auto changed =
      find_changed_scales(reference, candidate, compare_weights_of(reference, candidate));
  if (!changed.empty())
    pairs = in_qdq_form(ModelIndex(with_former_scales(candidate.model(), changed)));
  return std::make_unique<const ModelIndex>(*std::move(pairs));
}

RepairResult repair(const ModelIndex& shipped_index, const ModelIndex& reference_index,
                    Samples& samples, const RepairOptions& options) {
  const Model &shipped_model = shipped_index.model(), &reference = reference_index.model();
  require_float("repair", reference);
  const auto pairs = with_pairs(shipped_index, reference_index);
  const ModelIndex& candidate = pairs ? *pairs : shipped_index;
  const ShippedQuantizers shipped = find_shipped(candidate, reference_index);
  if (shipped.activations.empty() && shipped.nodes.empty())
    throw Error(fmt::format(
        "[repair] {}: has no Q-DQ pairs of constant scales; only such files are repaired",
        shipped_model.name()));
  SharedSamples shared(samples);
  const SampleParts parts = split_samples(samples.size(), true);
  require_choosing("repair", parts, samples);
  RepairResult result{.quantizers = std::ssize(shipped.activations),
                      .weights = std::ssize(shipped.nodes),
                      .choosing_samples = std::ssize(parts.choosing),
                      .held_back_samples = std::ssize(parts.held_back)};
  for (const auto& node : shipped.nodes) {
    result.unmatched_weights += !node.weight.original;
    result.unsigned_weights += becomes_unsigned(shipped, node, weight_storage(options.target));
  }
  if (samples.size() < 16)
    result.warnings.push_back(
        {.kind = WarningKind::few_samples, .value = static_cast<double>(samples.size())});

  bool go_on = true;
  std::int64_t done = 0;
  const std::int64_t total = std::ssize(parts.calibration);
  const auto report = [&] {
    if (options.progress && !options.progress(std::min(done, total), total)) go_on = false;
    return go_on;
  };
  report();
  const SampleRuns calibration{shared, parts.calibration, options.threads};
  const CalibrationValues values =
      calibrate(without_quantizers(candidate, shipped, [](const std::string&) { return true; }),
                calibration_plan(shipped), calibration, {.sample_done = [&] {
                  ++done;
                  report();
                }});
  QuantizationChoices choices{.precision = parse_quantized_precision("int8"),
                              .storage = weight_storage(options.target),
                              .per_channel = false};
  std::map<std::string, ActivationBounds> bounds_of;
  for (const auto& activation : shipped.activations) {
    choices.ranges[activation.tensors.front()] = activation.range;
    bounds_of[activation.tensors.front()] = activation.common_bounds();
  }
  const auto confine = [&](const std::string& tensor, CalibratedRange range) {
    const ActivationBounds& bounds = bounds_of.at(tensor);
    range.low = std::max(range.low, bounds.low);
    range.high = std::min(range.high, bounds.high);
    return range;
  };
  const auto nodes = correctable(candidate.main(), shipped);
  std::vector<PlacedWeight> weights;
  for (const auto& node : shipped.nodes)
    if (node.weight.original) weights.push_back({.name = node.name});
  const OutputScorer scorer(reference, {shared, parts.choosing, options.threads});
  SearchResult found = search_choices({.reference = reference,
                                       .nodes = nodes,
                                       .weights = weights,
                                       .values = values,
                                       .scorer = scorer,
                                       .calibration = calibration,
                                       .write =
                                           [&](const QuantizationChoices& tried) {
                                             return write_shipped(candidate, shipped, tried);
                                           },
                                       .effort = options.effort,
                                       .go_on = report,
                                       .confine = confine},
                                      choices);
  result.decisions = std::move(found.decisions);
  result.interrupted = !go_on;

  const Proving proving(shipped_model, reference, {shared, parts.held_back, options.threads});
  Model repaired = write_shipped(candidate, shipped, found.choices);
  result.held_back = proving.prove(repaired);
  result.verdict = verdict_of_gain("gain_db", result.held_back.gain);
  if (result.verdict.pass()) {
    result.model = std::move(repaired);
  } else if (result.unsigned_weights > 0) {
    Model stored_otherwise = write_shipped(candidate, shipped, choices);
    const RepairProof proof = proving.prove(stored_otherwise);
    const Verdict deployed = verdict_of_gain("deployed_gain_db", proof.deployed_gain);
    if (deployed.pass()) {
      result.held_back = proof;
      result.verdict = deployed;
      result.model = std::move(stored_otherwise);
    }
  }
  if (result.interrupted) result.verdict = interrupted_verdict(std::move(result.verdict));
  return result;
}

}  // namespace vernier
