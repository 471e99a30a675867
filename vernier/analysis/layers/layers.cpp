#include "vernier/analysis/layers/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "vernier/analysis/decoding/fed_decoder.h"
#include "vernier/analysis/evidence/evidence.h"
#include "vernier/analysis/evidence/leaf_evidence.h"
#include "vernier/analysis/layers/absent.h"
#include "vernier/analysis/layers/changed_run.h"
#include "vernier/analysis/layers/diagnose.h"
#include "vernier/analysis/layers/fused_weights.h"
#include "vernier/analysis/layers/measure.h"
#include "vernier/analysis/layers/operands.h"
#include "vernier/analysis/layers/plan.h"
#include "vernier/analysis/layers/projections.h"
#include "vernier/analysis/layers/quantized.h"
#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/error.h"
#include "vernier/exporting/sidecar.h"
#include "vernier/model/precision.h"
#include "vernier/model/scope.h"
#include "vernier/runtime/open_runner.h"
#include "vernier/runtime/recorded_runner.h"

namespace vernier {
namespace {

using Fact = LayerEvidence::Fact;

OrtOptions watching(OrtOptions runtime, bool beside_a_model) {
  runtime.watch = Watch::all();
  runtime.models_at_once = beside_a_model ? 2 : 1;
  runtime.optimization = std::nullopt;
  return runtime;
}

// The candidate's tensors. Those that no probe shows get no name: they connect other tensors but
// belong to no layer. The elements of a sequence, for instance, are read inside its scope.
std::vector<CandidateTensor> visible_tensors(const ModelIndex& model, const OrtRunner& runner) {
  std::set<std::string> visible;
  for (const WatchedTensor& tensor : runner.watched()) visible.insert(tensor.name);
  for (const TensorSpec& input : runner.inputs()) visible.insert(input.name);
  std::vector<CandidateTensor> tensors = candidate_tensors(model);
  for (CandidateTensor& tensor : tensors)
    if (!visible.contains(tensor.name)) tensor.name = "";
  return tensors;
}

// As many samples as were recorded; their inputs are not known.
class RecordedSamples : public Samples {
 public:
  explicit RecordedSamples(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  std::vector<Tensor> sample(std::int64_t) override { return {}; }

 private:
  std::int64_t size_;
};

std::vector<std::string> names_of(const Runner& runner) {
  std::vector<std::string> names;
  for (const TensorSpec& array : runner.outputs()) names.push_back(array.name);
  return names;
}

// Of a row that exceeds. NaN and infinity are counted for each side, as judge_pairs() does.
std::vector<Failure> failures_of(const LayerRow& row, const char* group, const Limit& limit) {
  if (row.match == Match::fused && row.evidence.weight)  // not compared, but its weight differs
    return {{.subject = row.evidence.weight->initializer,
             .group = "weight",
             .metric = "weight_sqnr_db",
             .value = row.evidence.weight->sqnr_db,
             .limit = Limit{
                 .metric = "weight_sqnr_db", .fails = Limit::Fails::below, .value = rounding_db}}};
  if (row.match == Match::none) return {missing_failure(row.layer, group, "candidate")};
  if (!row.compared || within(limit, row.max_abs_diff))
    return {shape_failure(row.layer, group, row.reference_shape, row.candidate_shape)};
  if (!std::isfinite(row.max_abs_diff)) {
    const NonfiniteCounts counts{row.reference_nan, row.reference_inf, row.candidate_nan,
                                 row.candidate_inf};
    if (auto counted = nonfinite_failures(row.layer, group, counts); !counted.empty())
      return counted;
  }
  return {{.subject = row.layer,
           .group = group,
           .metric = limit.metric,
           .value = row.max_abs_diff,
           .limit = limit}};
}

// Evidence from the two graphs.
struct GraphEvidence {
  std::optional<MissingActivations> missing = {};
  std::string other_node = {};
  std::string unproven_weight = {};  // see check_fused_weights()
};

Verdict judge_layers(const LayersResult& result, const LayersOptions& options,
                     const GraphEvidence& graphs) {
  const Limit limit{.metric = "max_abs_diff",
                    .fails = Limit::Fails::above,
                    .value = options.tolerance.value_or(default_tolerance)};
  std::vector<Failure> failures;
  const auto add = [&](const LayerRow& row, const char* group) {
    std::ranges::move(failures_of(row, group, limit), std::back_inserter(failures));
  };
  for (const LayerRow& row : result.rows)
    if (row.exceeds && !is_listed_with_another(row)) add(row, "layer");
  for (const LayerRow& row : result.outputs)
    if (row.exceeds) add(row, "output");
  if (result.samples == 0)
    failures.push_back({.metric = "max_abs_diff", .limit = limit, .kind = FailureKind::unmeasured});
  Evidence evidence{.real_inputs = options.real_inputs,
                    .missing = graphs.missing,
                    .other_node = graphs.other_node};
  for (const LayerRow& row : result.outputs)
    if (row.compared && element_count(row.reference_shape) == 0) evidence.empty_output = row.layer;
  Verdict verdict = make_verdict({limit}, failures, evidence);
  if (graphs.unproven_weight.empty()) return verdict;
  return with_doubt(std::move(verdict), {DoubtKind::unproven_weight, graphs.unproven_weight});
}

// Outputs inherit from the drift origin; without one, an operator behind the last layer differs.
void explain_outputs(LayersResult& result) {
  for (LayerRow& row : result.outputs) {
    if (!row.exceeds) continue;
    if (result.drift_origin) {
      row.cause = Cause::inherited;
      row.evidence = {.fact = Fact::origin_before,
                      .layer = result.rows[*result.drift_origin].layer};
      continue;
    }
    row.cause = Cause::missing_or_extra_op;
    if (row.match == Match::none) {
      row.evidence = {.fact = Fact::no_output};
    } else if (!row.evidence && row.layout) {
      row.cause = Cause::layout_mismatch;
      row.evidence = {.fact = Fact::other_layout};
    } else if (!row.evidence) {
      row.evidence = {.fact = Fact::behind_layers};
    }
  }
}

// Names the foreign weights once, not at every layer that has weights.
void name_other_weights(LayersResult& result, std::span<const ComparedWeight> weights) {
  if (!are_other_weights(weights)) return;
  std::int64_t foreign = 0, found = 0;
  for (const ComparedWeight& weight : weights) {
    found += weight.match != WeightMatch::not_found;
    foreign += weight.match == WeightMatch::differs || weight.match == WeightMatch::unlike;
  }
  bool said = false;
  for (LayerRow& row : result.rows) {
    if (row.cause != Cause::weight_bit_mismatch && row.cause != Cause::missing_or_extra_op)
      continue;
    row.cause = said ? Cause::inherited : Cause::other_weights;
    row.evidence = {.fact = said ? Fact::foreign_weights : Fact::other_checkpoint,
                    .in_reference = found,
                    .in_candidate = foreign};
    said = true;
  }
}

LayersResult with_causes(LayersResult result, const LayersOptions& layers,
                         const DiagnoseOptions& options, const GraphEvidence& graphs = {}) {
  const std::vector<Diagnosis> diagnoses = diagnose(result.rows, options);
  for (std::size_t i = 0; i < diagnoses.size(); ++i) {
    if (result.rows[i].cause == Cause::missing_or_extra_op) continue;  // known before
    result.rows[i].cause = diagnoses[i].cause;
    result.rows[i].evidence = diagnoses[i].evidence;
  }
  name_other_weights(result, options.weights);
  explain_outputs(result);
  result.verdict = judge_layers(result, layers, graphs);
  return result;
}

// Blames a missing activation function that no figure shows, because all its inputs were positive,
// or too small to matter. Returns it if its layer is unknown.
std::optional<MissingActivations> name_missing_activation(LayersResult& result,
                                                          const ModelIndex& reference,
                                                          const ModelIndex& candidate) {
  if (result.layers_exceeding > 0) return std::nullopt;
  const auto missing = find_missing_activations(reference, candidate);
  if (!missing) return std::nullopt;
  const auto row = std::ranges::find(result.rows, missing->tensor, &LayerRow::layer);
  if (row == result.rows.end()) return missing;
  const auto index = static_cast<std::size_t>(row - result.rows.begin());
  row->exceeds = true;
  row->match = Match::none;
  row->cause = Cause::missing_or_extra_op;
  row->evidence = {.fact = Fact::activations,
                   .name = missing->op,
                   .in_reference = missing->reference,
                   .in_candidate = missing->candidate};
  ++result.layers_exceeding;
  result.drift_origin = std::min(result.drift_origin.value_or(index), index);
  return std::nullopt;
}

// The candidate as it ships, and the graph that ran, which differs if it was optimised first.
struct CandidateModels {
  const ModelIndex& shipped;
  const ModelIndex& ran;
};

std::optional<Tensor> read_parameter(const LayersReference& reference, const ModelIndex* index,
                                     const std::string& name) {
  std::optional<Tensor> found;
  if (const Weight* stored = index ? index->weight(name) : nullptr)
    found = copy(index->model().view(*stored->proto));
  if (!index && reference.runner)
    reference.runner->visit_parameters_named(
        {&name, 1}, [&](const TensorView& parameter) { found = copy(parameter); });
  return found;
}

// See check_fused_weights(). `weights` are those of the shipped candidate; an optimised graph has
// others. Quantized weights differ, and the outputs of such a candidate are judged.
std::string find_unproven_weight(LayersResult& result, const LayersReference& reference,
                                 std::span<const ComparedWeight> weights, bool is_optimized,
                                 FusedWeightsOptions options) {
  const ModelIndex& ran = options.candidate;
  const bool may_be_fused = std::ranges::any_of(
      result.rows, [](const LayerRow& row) { return row.exceeds || row.match == Match::fused; });
  if (!may_be_fused || precision_of(ran.model()) == Precision::int8) return "";
  std::vector<ComparedWeight> of_ran;
  if (is_optimized) {
    of_ran = options.reference ? compare_weights(*options.reference, ran)
                               : compare_weights(*reference.runner, ran);
    weights = of_ran;
  }
  options.read = [&](const std::string& name) {
    return read_parameter(reference, options.reference, name);
  };
  return check_fused_weights(result, weights, options);
}

// Adds the weights that differ from the reference's, and a cause for each row that exceeds.
LayersResult explain(LayersResult result, const LayersReference& reference,
                     const CandidateModels& candidate, const LayersOptions& options,
                     const RunChanged& run_changed) {
  const auto& index = reference.index;
  const auto& [shipped, ran] = candidate;
  std::vector<WatchedTensor> leaves;
  if (!index) leaves = reference.runner->watched();
  std::vector<ComparedWeight> weights =
      index ? compare_weights(*index, shipped) : compare_weights(*reference.runner, shipped);
  if (index) {
    TensorPairs tensors;
    for (const LayerRow& row : result.rows)
      if (!row.tensor.empty()) tensors.emplace_back(row.layer, row.tensor);
    weights = compare_operands(std::move(weights), *index, shipped, tensors);
  }
  result.projections = index ? place_projections(*index, result.rows, &LayerRow::layer)
                             : place_projections(ran, result.rows, &LayerRow::tensor);
  result.weight_mismatches = weight_mismatches(weights);
  GraphEvidence graphs;
  if (!index) {
    const CandidateGraph graph(ran, result.rows);
    classify_absent_layers(result, graph);
    graphs.missing = find_lost_activation(result, graph, ran);
  }
  graphs.unproven_weight =
      find_unproven_weight(result, reference, weights, options.runtime.optimization.has_value(),
                           {.candidate = ran, .reference = index, .run_changed = run_changed});
  if (index) graphs.missing = name_missing_activation(result, *index, shipped);
  if (!options.real_inputs && precision_of(shipped.model()) != Precision::int8)
    graphs.other_node = index ? find_other_node(*index, shipped) : find_other_leaf(leaves, shipped);
  result = with_causes(std::move(result), options,
                       {.candidate = &ran,
                        .reference = index,
                        .leaves = leaves,
                        .weights = weights,
                        .run_changed = run_changed},
                       graphs);
  if (options.weight_evidence)
    result.weights = index ? compare_weights_of(*index, shipped)
                           : compare_weights_of(*reference.runner, shipped);
  if (result.weights) result.verdict = with_weights(std::move(result.verdict), *result.weights);
  return result;
}

LayersResult as_far_as_run(LayersResult result, const Samples& samples) {
  if (result.interrupted)
    result.verdict = interrupted_verdict(std::move(result.verdict), result.samples, samples.size());
  return result;
}

// A host needs an example to describe its model, because it runs it.
LayersOptions with_example(LayersOptions options, const Model& candidate, Samples& samples) {
  if (reference_format(options) != ModelFormat::hosted) return options;
  if (samples.size() > 0)
    options.host = described_by(options.host, samples.sample(0), candidate.outputs());
  return options;
}

LayersResult explain(LayersResult result, const LayersOptions& options) {
  return with_causes(std::move(result), options, {});
}

bool is_part(const LayersOptions& options) { return options.records && options.records->is_part(); }

// The rows of both models, and the first sample on which one exceeds.
struct RanLayers {
  LayersResult result;
  std::int64_t first_exceeding = 0;
};

// Runs both models side by side. The candidate's session ends on return.
RanLayers run_layers(LayersReference& reference, const ModelIndex& graph, Samples& samples,
                     const LayersOptions& options) {
  OrtRunner runner(graph.model().clone(), watching(options.runtime, !reference.is_recorded));
  Validation validation(reference, runner, visible_tensors(graph, runner), &graph, options);
  bool complete = validation.measure(samples);
  if (complete && !is_part(options) && validation.any_exceeds()) {
    const std::int64_t first = validation.first_exceeding(), number = samples.number(first);
    const std::vector<Tensor> sample = samples.sample(first);
    validation.settle_compensated(runner, number, sample);
    if (validation.any_exceeds() && validation.measure_introduced(runner, number, sample))
      complete = validation.measure(samples, realigned_section);
  }
  LayersResult result = validation.result();
  result.interrupted = !complete;
  result.versions = reference.runner->versions();
  return {std::move(result), validation.first_exceeding()};
}

// Proof by further runs, if a layer exceeds or was fused; empty otherwise, and the reference may be
// closed.
RunChanged further_runs(LayersReference& reference, const RanLayers& ran, Samples& samples,
                        const LayersOptions& options) {
  const std::vector<LayerRow>& rows = ran.result.rows;
  const bool is_needed = ran.result.layers_exceeding > 0 ||
                         std::ranges::find(rows, Match::fused, &LayerRow::match) != rows.end();
  if (!is_needed || ran.result.interrupted || reference.is_recorded) return {};
  return changed_runs(reference, {.runtime = watching(options.runtime, true),
                                  .io = options.io,
                                  .number = samples.number(ran.first_exceeding),
                                  .sample = samples.sample(ran.first_exceeding)});
}

// The origins in the model's own metadata, else those that its export wrote into a sidecar.
TensorOrigins known_origins(const Model& model) {
  TensorOrigins origins = tensor_origins(model.graph());
  if (origins.empty() && !model.path().empty())
    for (const SidecarTensor& tensor : exported_tensors(model.path()))
      origins[tensor.name] = {tensor.module, tensor.source};
  return origins;
}

Model recalling(Model model, const TensorOrigins& origins) {
  recall_origins(model.graph(), origins);
  return model;
}

// Feeds a decoder reference the candidate's tokens and caches if it takes other inputs: replaces
// its runner by one that translates them, and returns the original runner. Null if not needed.
std::unique_ptr<Runner> feed_reference(LayersReference& reference, const Model& candidate,
                                       const LayersOptions& options) {
  if (!reference.index) return nullptr;
  auto fed = feed_decoder(*reference.runner, reference.index->model(), candidate, options.io.roles);
  if (fed) std::swap(fed, reference.runner);
  return fed;
}

}  // namespace

std::string_view cause_name(Cause cause) {
  switch (cause) {
    case Cause::none: return "none";
    case Cause::weight_bit_mismatch: return "weight_bit_mismatch";
    case Cause::layout_mismatch: return "layout_mismatch";
    case Cause::missing_or_extra_op: return "missing_or_extra_op";
    case Cause::attribute_mismatch: return "attribute_mismatch";
    case Cause::operand_mismatch: return "operand_mismatch";
    case Cause::other_weights: return "other_weights";
    case Cause::precision_loss: return "precision_loss";
    case Cause::nonfinite: return "nonfinite";
    case Cause::rounding: return "rounding";
    case Cause::op_implementation: return "op_implementation";
    case Cause::inherited: return "inherited";
    case Cause::unknown: return "unknown";
  }
  return "";
}

const LayerRow* LayersResult::origin() const {
  if (drift_origin) return &rows[*drift_origin];
  const auto output = std::ranges::find_if(outputs, &LayerRow::exceeds);
  return output == outputs.end() ? nullptr : &*output;
}

bool judges_outputs(const Model& candidate, const LayersOptions& options) {
  return options.judge_outputs && !options.tolerance &&
         reference_format(options) == ModelFormat::onnx &&
         precision_of(candidate) != Precision::fp32;
}

LayersResult validate_layers(const ModelIndex& index, Samples& samples,
                             const LayersOptions& given) {
  const Model& candidate = index.model();
  LayersReference reference = open_layers_reference(with_example(given, candidate, samples));
  LayersOptions options = given;
  const std::unique_ptr<Runner> fed = feed_reference(reference, candidate, options);
  pair_cache_outputs(candidate, reference.runner->outputs(), options.io);
  const TensorOrigins origins = known_origins(candidate);
  std::optional<ModelIndex> recalled, optimised;
  if (!origins.empty()) recalled.emplace(recalling(candidate.clone(), origins));
  if (options.runtime.optimization)
    optimised.emplace(recalling(optimize(candidate, *options.runtime.optimization), origins));
  const ModelIndex& shipped = recalled ? *recalled : index;
  const CandidateModels models{shipped, optimised ? *optimised : shipped};
  RanLayers ran = run_layers(reference, models.ran, samples, options);
  LayersResult& result = ran.result;
  if (is_part(options)) {
    if (judges_outputs(candidate, options))
      judge_quantized(*reference.index, index, samples, {}, options);
    return result;
  }
  const RunChanged run_changed = further_runs(reference, ran, samples, options);
  if (reference.index && !run_changed) reference.runner.reset();  // weights are in the file
  result = explain(std::move(result), reference, models, options, run_changed);
  if (reference.index) reference.runner.reset();
  if (judges_outputs(candidate, options) && !result.interrupted)
    result.verdict = judge_quantized(*reference.index, index, samples, result.weights, options);
  return as_far_as_run(std::move(result), samples);
}

LayersResult validate_recorded_layers(const std::filesystem::path& candidate,
                                      const LayersOptions& options) {
  const RecordedRunner recorded(options.reference);
  RecordedRunner runner(candidate);
  if (runner.size() != recorded.size())
    throw Error(fmt::format("[layers] {} holds {} samples, {} holds {}; record the same ones",
                            options.reference.string(), recorded.size(), candidate.string(),
                            runner.size()));
  LayersReference reference = open_layers_reference(options);
  RecordedSamples samples(runner.size());
  Validation validation(reference, runner, candidate_tensors(names_of(runner)), nullptr, options);
  const bool complete = validation.measure(samples);
  LayersResult result = validation.result();
  result.interrupted = !complete;
  return as_far_as_run(explain(std::move(result), options), samples);
}

}  // namespace vernier
