#include "vernier/analysis/debug/debug.h"

#include <fmt/format.h>

#include <future>

#include "vernier/analysis/compare/compare_models.h"
#include "vernier/analysis/debug/diagnose.h"
#include "vernier/analysis/debug/measure.h"
#include "vernier/analysis/debug/plan.h"
#include "vernier/analysis/evidence/switched_models.h"
#include "vernier/analysis/pairing/by_name.h"
#include "vernier/error.h"
#include "vernier/model/decoder.h"
#include "vernier/model/precision.h"
#include "vernier/runtime/ort_session.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

void require_related(const DebugPlan& plan, const std::vector<DebugWeight>& weights,
                     const ModelIndex& float_model, const Model& quantized_model) {
  const bool weights_match = std::ranges::any_of(
      weights, [](const DebugWeight& weight) { return weight.weight_sqnr_db.has_value(); });
  const bool tensors_match = std::ranges::any_of(plan.tensors, [&](const PlannedTensor& planned) {
    return float_model.tensor(planned.counterpart.tensor) != nullptr;
  });
  if (weights_match || tensors_match) return;
  throw Error(
      fmt::format("[debug] no tensor of {} was recognised in {}; are they the same network?",
                  quantized_model.name(), float_model.model().name()));
}

// Warnings on inputs and outputs that were not paired by name.
std::vector<Warning> pairing_warnings(const DebugPlan& plan, const Measurements& measured) {
  std::vector<Warning> warnings = plan.bindings.warnings;
  for (const OutputSums& output : measured.sums.outputs)
    if (!output.reference_in_place.empty())
      warnings.push_back({WarningKind::output_by_position, output.name, output.reference_in_place});
  return warnings;
}

// If the user set no limits, the outputs are judged as a comparison judges them.
void judge_outputs(DebugResult& result, const ModelIndex& float_model,
                   const ModelIndex& quantized_model, Samples& samples,
                   const DebugOptions& options) {
  const bool is_part = options.records && options.records->is_part();
  if (!judges_outputs(options) || (result.interrupted && !is_part)) return;
  CompareModelsOptions compared{
      .weights = false, .candidate_runtime = options.runtime, .reference_runtime = options.runtime};
  compared.compare.limits = default_limits(precision_of(quantized_model.model()));
  compared.compare.evidence.real_inputs = options.real_inputs;
  compared.compare.evidence.weights = result.evidence.weights;
  compared.compare.io = options.io;
  compared.compare.records = options.records;
  CompareResult outputs = compare_models({.reference = &float_model, .candidate = quantized_model},
                                         samples, std::move(compared));
  result.verdict = with_further_failures(std::move(outputs.verdict), result.verdict.failures);
  result.evidence = std::move(outputs.evidence);
  result.cache_faults = std::move(outputs.cache_faults);
  for (Warning& warning : outputs.warnings)
    if (std::ranges::find(result.warnings, warning) == result.warnings.end())
      result.warnings.push_back(std::move(warning));
}

// The first node that reads a weight; empty if none does.
std::string reader_of(const ModelIndex& model, const std::string& weight) {
  const Weight* found = model.weight(weight);
  const auto readers =
      found ? found->graph->consumers(found->name) : std::span<const NodeProto* const>();
  return readers.empty() ? std::string() : node_label(*readers.front());
}

// Maps node names of the quantized model to the float model's: the writer of the activation, or the
// reader of the weight.
std::map<std::string, std::string> float_nodes(const DebugPlan& plan,
                                               const std::vector<Switch>& switches,
                                               const Quantization& quantization,
                                               const std::vector<DebugWeight>& weights,
                                               const ModelIndex& float_model) {
  std::map<std::string, std::string> writers, readers, nodes;
  for (const PlannedTensor& planned : plan.tensors)
    writers.emplace(planned.activation.name, planned.activation.writer);
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i].counterpart)
      readers.emplace(quantization.weights[i].name,
                      reader_of(float_model, weights[i].counterpart.tensor));
  for (const Switch& each : switches) {
    const auto& known = each.kind == Switch::Kind::activation ? writers : readers;
    const auto found = known.find(each.name);
    if (found != known.end() && !found->second.empty()) nodes.emplace(each.node, found->second);
  }
  return nodes;
}

// Measures sensitivity by switching quantizers. If that fails, a warning gives the reason.
void add_sensitivity(DebugResult& result, const DebugPlan& plan, const ModelIndex& float_model,
                     const ModelIndex& quantized_model, const Quantization& quantization,
                     Samples& samples, const DebugOptions& options) {
  if (!options.switches || result.interrupted) return;
  try {
    std::vector<std::optional<ClipRange>> folded;
    for (std::size_t i = 0; i < quantization.activations.size(); ++i)
      folded.push_back(plan.tensors[i].folded);
    SwitchedModel model = switch_quantizers(float_model, quantized_model, quantization, folded);
    SensitivityOptions wanted{
        .samples = options.advice_samples.value_or(default_advice_samples),
        .held_out = options.held_out,
        .explain_flips = options.explain_flips,
        .float_nodes = float_nodes(plan, model.switches, quantization, result.weights, float_model),
        .logits = plan.logits,
        .runtime = options.runtime,
        .progress = options.progress};
    result.sensitivity =
        measure_sensitivity(std::move(model), options.advice ? *options.advice : samples, wanted);
    result.interrupted = result.sensitivity->interrupted;
  } catch (const Error& error) {
    result.warnings.push_back({WarningKind::unmeasured_nodes, error.what()});
  }
}

constexpr std::int64_t most_mapped = 256;

RunMap map_of_run(const ModelIndex& float_model, const ModelIndex& quantized_model,
                  const Decoder& decoder, const DebugResult& result, Samples& sequences) {
  const std::vector<Tensor> first = sequences.sample(0);
  const auto ids = std::ranges::find(first, decoder.tokens, &Tensor::name);
  if (ids == first.end()) return {};
  const Tensor tokens = convert(*ids, DType::i64);
  const auto values = elements<std::int64_t>(tokens.view());
  std::vector<PlacedProjection> projections;
  for (const ProjectionRow& row : result.projections) projections.push_back(row.projection);
  return map_run(float_model.model(), quantized_model, decoder, projections,
                 values.first(std::min<std::size_t>(values.size(), most_mapped)));
}

}  // namespace

bool judges_outputs(const DebugOptions& options) {
  return options.judge_outputs && options.limits.empty();
}

DebugResult debug(const ModelIndex& float_model, const ModelIndex& quantized_model,
                  Samples& samples, const DebugOptions& options) {
  // ONNX Runtime is initialised in the background, since that takes longer than planning.
  [[maybe_unused]] const auto initialised =
      std::async(std::launch::async, [] { ort_environment(); });
  const std::vector<Tensor> first = samples.sample(0);
  const Quantization quantization = require_quantization(float_model, quantized_model);
  std::vector<DebugWeight> weights = measure_weights(quantization.weights, float_model);
  DebugPlan plan = make_plan(float_model, quantized_model, quantization, first, options);
  const auto decoder = find_decoder(quantized_model.model(), options.io.roles);
  if (decoder) plan.logits = decoder->logits;
  require_related(plan, weights, float_model, quantized_model.model());
  const Measurements measured =
      measure(float_model, quantized_model, plan, first, samples, options);
  Evidence evidence{.real_inputs = options.real_inputs, .quantized = true, .own_limits = true};
  if (options.weight_evidence) evidence.weights = compare_weights_of(float_model, quantized_model);
  DebugResult result = diagnose(plan, measured, std::move(weights), std::move(evidence), options);
  result.warnings = pairing_warnings(plan, measured);
  judge_outputs(result, float_model, quantized_model, samples, options);
  if (options.records && options.records->is_part()) return result;
  add_sensitivity(result, plan, float_model, quantized_model, quantization, samples, options);
  if (!decoder) return result;
  result.projections = projection_rows(float_model, result);
  if (options.advice && !result.interrupted)
    result.run_map = map_of_run(float_model, quantized_model, *decoder, result, *options.advice);
  return result;
}

}  // namespace vernier
