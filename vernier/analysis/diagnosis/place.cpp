#include <algorithm>
#include <cmath>
#include <iterator>

#include "vernier/analysis/compare/output_failures.h"
#include "vernier/analysis/diagnosis/ask.h"
#include "vernier/analysis/diagnosis/substitution.h"
#include "vernier/analysis/layers/graph.h"
#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/error.h"
#include "vernier/model/inference_mode.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

constexpr std::int64_t samples_of_place = 16;  // for debug: half choose a remedy, half judge it
constexpr std::int64_t samples_of_layers = 2;  // few, since every layer of each is compared
constexpr double large_share = 0.3;            // of the noise: from here on, a node is to blame

// Whether the layer holds another layer's weight, and exchanging the two improves the outputs.
bool has_swapped_weights(DiagnosisResult& result, const LayerRow& row, const ComparedModels& models,
                         Samples& samples, const DiagnosisOptions& options) {
  const auto& weights = result.compare->evidence.weights;
  if (!weights) return false;
  result.swapped =
      find_swapped_weights(*result.layers, row, *weights, models.reference, models.candidate);
  if (!result.swapped) return false;
  asked(options, Question::remedy);
  const Model& candidate = models.candidate.model();
  const bool repairs =
      is_proven(result, {.kind = Remedy::Kind::right_weights,
                         .subjects = {result.swapped->candidate, result.swapped->other},
                         .before_db = sqnr_of(candidate, models, samples, options, false),
                         .after_db = sqnr_of(with_swapped_weights(candidate, *result.swapped),
                                             models, samples, options, false)});
  if (repairs)
    name_cause(result, DiagnosedCause::swapped_weights, result.swapped->candidate);
  else
    result.swapped.reset();
  return repairs;
}

// The worst output's SQNR with the row's layer replaced by the reference's; nullopt if impossible.
std::optional<double> sqnr_with_layer(const LayerRow& row, const Model& candidate, Samples& samples,
                                      const DiagnosisOptions& options) {
  const auto outputs = outputs_with_layer(row, candidate, samples,
                                          {.reference = options.layers,
                                           .candidate_runtime = options.compare.candidate_runtime,
                                           .io = options.compare.compare.io});
  return outputs ? std::optional(worst_db(*outputs)) : std::nullopt;
}

// Whether the gain closes at least half of the gap to the limit on the mean. True without such a
// limit, or if the mean keeps it: then the size of the gap is unknown.
bool is_most_of_missing(double before_db, double after_db, const std::vector<Limit>& limits) {
  constexpr double most = 0.5;
  const auto limit = std::ranges::find(limits, "sqnr_db_mean", &Limit::metric);
  return limit == limits.end() || !(before_db < limit->value) || after_db >= limit->value ||
         after_db - before_db >= most * (limit->value - before_db);
}

// Whether the layer's own evidence proves the cause.
bool tells_cause(Cause cause) {
  return cause != Cause::precision_loss && cause != Cause::op_implementation &&
         cause != Cause::rounding && cause != Cause::inherited && cause != Cause::unknown;
}

// The output that equals an inner tensor of the reference, because the operators behind that tensor
// (post-processing) are missing; empty if none.
std::string unfinished_output(const LayersResult& layers) {
  for (const LayerRow& output : layers.rows) {
    if (!output.exceeds || output.layer != output.tensor) continue;
    for (const LayerRow& row : layers.rows)
      if (row.tensor == output.tensor && row.layer != output.layer && row.compared && !row.exceeds)
        return output.tensor;
  }
  return "";
}

bool has_more_nonfinite(const LayerRow& row) {
  return row.candidate_nan + row.candidate_inf > row.reference_nan + row.reference_inf;
}

// The layer from which the first NaN is computed through layers that are all not finite; without
// NaN, the first that is not finite. Empty if there is none. Infinity alone may be a mask's.
std::string first_nonfinite_layer(const LayersResult& layers, const ModelIndex& candidate) {
  const std::vector<LayerRow>& rows = layers.rows;
  const auto has_nan = [](const LayerRow& row) { return row.candidate_nan > row.reference_nan; };
  auto found = std::ranges::find_if(rows, has_nan);
  if (found == rows.end()) found = std::ranges::find_if(rows, has_more_nonfinite);
  if (found == rows.end()) return "";
  const CandidateGraph graph(candidate, rows);
  for (auto next = found; next != rows.end();) {
    found = next;
    next = rows.end();
    for (const std::string& source : graph.region(found->tensor).sources)
      for (const std::size_t row : graph.rows_of(source))
        if (row < static_cast<std::size_t>(found - rows.begin()) && has_more_nonfinite(rows[row]))
          next = rows.begin() + static_cast<std::ptrdiff_t>(row);
  }
  return found->layer;
}

void ask_place_in_float(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                        const DiagnosisOptions& options) {
  const auto few = first_samples(samples, samples_of_layers);
  LayersOptions layers_options = options.layers;
  layers_options.progress = asked(options, Question::place);
  result.layers = validate_layers(models.candidate, *few, layers_options);
  const LayersResult& layers = *result.layers;
  result.interrupted = layers.interrupted;
  const auto output = std::ranges::find(layers.outputs, true, &LayerRow::exceeds);
  if (!layers.drift_origin && output == layers.outputs.end()) {
    answer(result, Question::place) = AnswerKind::unknown;
    return;
  }
  const LayerRow& row = layers.drift_origin ? layers.rows[*layers.drift_origin] : *output;
  answer(result, Question::place) = AnswerKind::bad;
  name_cause(result, DiagnosedCause::drift_origin, row.layer);
  if (const std::string cut = unfinished_output(layers); !cut.empty())
    return name_cause(result, DiagnosedCause::unfinished_output, cut);
  if (has_swapped_weights(result, row, models, *few, options)) return;
  answer(result, Question::remedy) = AnswerKind::unknown;
  // In half precision every layer loses precision, so the first that does explains no overflow.
  if (const std::string layer = first_nonfinite_layer(layers, models.candidate);
      result.compare->nan_origin && row.cause == Cause::precision_loss && !layer.empty())
    return name_cause(result, DiagnosedCause::nonfinite, layer);
  // If everything is quantized, the first layer that loses precision explains nothing.
  if (result.compare->evidence.quantized && row.cause == Cause::precision_loss)
    return name_cause(result, DiagnosedCause::unknown);
  asked(options, Question::remedy);
  const double right_db =
      layers.drift_origin
          ? sqnr_with_layer(row, models.candidate.model(), *few, options).value_or(std::nan(""))
          : std::nan("");
  const double before_db = sqnr_of(models.candidate.model(), models, *few, options, false);
  if (!is_proven(result, {.kind = Remedy::Kind::right_layer,
                          .subjects = {row.layer},
                          .before_db = before_db,
                          .after_db = right_db}))
    return;
  if (!tells_cause(row.cause) && !is_most_of_missing(before_db, right_db, result.verdict.limits))
    name_cause(result, DiagnosedCause::unknown);
}

// Whether the outputs are as far off for the switches, which know the candidate with and without
// quantizers, as they are from the reference. If not, what is wrong is not quantization.
bool is_seen_by_switches(const Sensitivity& sensitivity, const CompareResult& compare) {
  constexpr double far_apart_db = 10;  // other samples, and the mean noise instead of mean decibels
  double output_db = sensitivity.output_db;
  for (const OutputFigure& output : sensitivity.outputs)
    output_db = std::min(output_db, output.sqnr_db);
  return output_db <= worst_db(judged_outputs(compare)) + far_apart_db;
}

void ask_place_in_quantized(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                            const DiagnosisOptions& options) {
  const auto few = first_samples(samples, samples_of_place);
  DebugOptions debug_options = options.debug;
  debug_options.switches = true;
  debug_options.progress = asked(options, Question::place);
  result.debug = debug(*models.reference, models.candidate, *few, debug_options);
  answer(result, Question::place) = AnswerKind::bad;
  answer(result, Question::remedy) = AnswerKind::unknown;
  result.interrupted = result.debug->interrupted;
  const auto& sensitivity = result.debug->sensitivity;
  if (sensitivity && !is_seen_by_switches(*sensitivity, *result.compare)) {
    if (result.cause == DiagnosedCause::unknown)
      answer(result, Question::place) = AnswerKind::unknown;
    return;
  }
  if (sensitivity) {
    std::ranges::move(measured_remedies(*sensitivity, models), std::back_inserter(result.remedies));
    if (!result.remedies.empty()) answer(result, Question::remedy) = AnswerKind::good;
  }
  // A quantizer turns NaN into a number, so the outputs show no NaN.
  const auto& activations = result.debug->activations;
  const auto nonfinite = std::ranges::find_if(
      activations, [](const DebugActivation& row) { return row.nonfinite > 0; });
  if (nonfinite != activations.end())
    return name_cause(result, DiagnosedCause::nonfinite, nonfinite->tensor_name);
  if (result.cause != DiagnosedCause::unknown) return;  // the comparison named the quantizer
  if (sensitivity && !sensitivity->nodes.empty() &&
      sensitivity->nodes.front().noise_share >= large_share)
    name_cause(result, DiagnosedCause::quantized_nodes, sensitivity->nodes.front().node);
  else
    name_cause(result, DiagnosedCause::spread_quantization);
}

}  // namespace

bool has_transposed_weights(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                            const DiagnosisOptions& options) {
  const auto& weights = result.compare->evidence.weights;
  if (!weights || result.verdict.pass() || options.quick) return false;
  std::vector<std::string> transposed;
  for (const PairedWeight& weight : weights->weights)
    if (weight.transposed) transposed.push_back(weight.candidate);
  if (transposed.empty()) return false;
  asked(options, Question::remedy);
  const auto& exact = result.compare->exact_outputs;
  const Model changed = with_transposed_weights(models.candidate, transposed);
  if (!is_proven(result, {.kind = Remedy::Kind::right_axes,
                          .subjects = std::move(transposed),
                          .before_db = worst_db(exact.empty() ? result.compare->outputs : exact),
                          .after_db = sqnr_of(changed, models, samples, options, !exact.empty())}))
    return false;
  name_cause(result, DiagnosedCause::transposed_weight, result.remedies.back().subjects.front());
  return true;
}

bool is_in_training(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                    const DiagnosisOptions& options) {
  const std::string finding = result.subject;
  if (result.cause != DiagnosedCause::candidate_unsound || result.verdict.pass() || options.quick ||
      (finding != "training-batchnorm" && finding != "active-dropout"))
    return false;
  asked(options, Question::remedy);
  const auto few = first_samples(samples, samples_of_place);
  const double before_db = sqnr_of(models.candidate.model(), models, *few, options, false);
  const double after_db =
      sqnr_of(in_inference_mode(models.candidate), models, *few, options, false);
  if (!(after_db > before_db + most_of_error_db)) return false;
  return is_proven(result, {.kind = Remedy::Kind::inference,
                            .subjects = {finding},
                            .before_db = before_db,
                            .after_db = after_db});
}

bool is_optimizers_fault(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                         const DiagnosisOptions& options) {
  asked(options, Question::runtime);
  const auto own = reference_runner(models, options);
  const auto few = first_samples(samples, samples_of_place);
  result.stages = run_stages(own ? *own : *models.reference_runner, models.candidate.model(),
                             options.compare.candidate_runtime, *few, options.compare.compare.io);
  const auto moved = std::ranges::find(result.stages, true, &RuntimeStage::is_moved);
  answer(result, Question::runtime) =
      moved == result.stages.end() ? AnswerKind::good : AnswerKind::bad;
  if (moved == result.stages.end() || moved == result.stages.begin()) return false;
  const double before_db = moved->sqnr_db, after_db = std::prev(moved)->sqnr_db;
  if (!(after_db > before_db + noticeable_db)) return false;
  result.remedies.push_back({.kind = Remedy::Kind::no_optimizer,
                             .subjects = moved->optimizers,
                             .before_db = before_db,
                             .after_db = after_db});
  answer(result, Question::remedy) = AnswerKind::good;
  name_cause(result, DiagnosedCause::optimizer,
             moved->optimizers.empty() ? moved->name : moved->optimizers.front());
  return true;
}

void ask_place(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
               const DiagnosisOptions& options) {
  try {
    if (result.compare->evidence.quantized && models.reference)
      ask_place_in_quantized(result, models, samples, options);
    else
      ask_place_in_float(result, models, samples, options);
  } catch (const Stopped&) {
    result.interrupted = true;
  } catch (const Error& error) {
    answer(result, Question::place) = AnswerKind::unknown;
    result.warnings.push_back({.subject = error.what()});
  }
}

}  // namespace vernier
