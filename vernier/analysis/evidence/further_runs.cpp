#include "vernier/analysis/evidence/further_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "vernier/analysis/compare/arithmetic.h"
#include "vernier/analysis/evidence/bias_evidence.h"
#include "vernier/analysis/evidence/calibration_fit.h"
#include "vernier/analysis/evidence/constant_evidence.h"
#include "vernier/analysis/evidence/float_form.h"
#include "vernier/analysis/evidence/structure_runs.h"
#include "vernier/analysis/evidence/unrounded_weights.h"
#include "vernier/error.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

OrtRunner exact_runner(const Model& model, const OrtOptions& runtime) {
  return OrtRunner(model.clone(), in_exact_arithmetic(runtime));
}

// The largest gain in SQNR of any output, in the mean of the samples or pooled; at least 0.
double gain_db(const std::vector<PairResult>& from, const std::vector<PairResult>& to) {
  double gain = 0;
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
    gain =
        std::max({gain, to[i].similarity.statistics[0].mean - from[i].similarity.statistics[0].mean,
                  to[i].pooled_sqnr_db - from[i].pooled_sqnr_db});
  return gain;
}

// The largest gain of any output, in exact arithmetic, if `better` replaces the candidate.
double gain_of(const Model& better, const CompareResult& result, const ComparedRun& run) {
  OrtRunner runner = exact_runner(better, run.options.candidate_runtime);
  const CompareResult compared =
      compare(run.reference, runner, run.samples, options_like(run.options.compare));
  return std::max(gain_db(result.exact_outputs, compared.outputs),
                  gain_db(result.before_activation, compared.before_activation));
}

std::vector<OtherBias> other_biases(const WeightEvidence& weights, const ComparedRun& run,
                                    double least_db) {
  const ModelIndex& candidate = run.models.candidate;
  if (run.read.model) return find_other_biases(*run.read.model, candidate, weights, least_db);
  return find_other_biases(float_weights_of(run.read, candidate, weights), candidate, least_db);
}

Failure other_parameter(const std::string& name, double db, double least_db) {
  const Limit limit{.metric = "weight_sqnr_db", .fails = Limit::Fails::below, .value = least_db};
  return {.subject = name, .group = "weight", .metric = limit.metric, .value = db, .limit = limit};
}

// Adds a doubt about parameters; a failed verdict keeps its failures.
void add_doubt(CompareResult& result, Doubt doubt) {
  result.evidence.parameters.push_back(doubt);
  if (result.verdict.outcome == Outcome::fail)
    result.verdict = with_doubt(std::move(result.verdict), std::move(doubt));
  else
    judge_anew(result);
}

// A bias that was lost or exchanged, or another constant that was lost, although the outputs hardly
// show it.
void doubt_parameters(CompareResult& result, const std::vector<OtherBias>& biases,
                      const std::vector<OtherConstant>& constants) {
  constexpr double zeros_db = 0;  // SQNR of zeros, exactly: all of the signal is noise
  const auto changed = std::ranges::find(biases, true, &OtherBias::is_misplaced);
  if (changed != biases.end())
    return add_doubt(result, {DoubtKind::misplaced_bias, changed->candidate, changed->sqnr_db});
  const auto lost = std::ranges::find(constants, zeros_db, &OtherConstant::sqnr_db);
  if (lost != constants.end())
    add_doubt(result, {DoubtKind::misplaced_bias, lost->candidate, lost->sqnr_db});
}

// Biases and quantized constants that differ from the reference's fail a candidate that improves
// with the reference's.
void judge_parameters(CompareResult& result, const ComparedRun& run) {
  const auto& weights = result.evidence.weights;
  const auto& structure = result.evidence.structure;
  const bool explained = (weights && weights->answer == WeightEvidence::Answer::different) ||
                         (structure && is_other_network(*structure));
  if (explained || !weights || result.exact_outputs.empty()) return;
  const auto biases = other_biases(*weights, run, unlike_bias_db);
  const auto constants = find_other_constants(run.read, run.extended);
  if (biases.empty() && constants.empty()) return;
  const Model repaired =
      with_reference_constants(with_reference_biases(run.extended.model(), biases), constants);
  if (!(gain_of(repaired, result, run) > costly_db))
    return doubt_parameters(result, biases, constants);
  std::vector<Failure> failures;
  for (const OtherBias& bias : biases)
    failures.push_back(other_parameter(bias.candidate, bias.sqnr_db, unlike_bias_db));
  for (const OtherConstant& constant : constants)
    if (std::ranges::find(biases, constant.candidate, &OtherBias::candidate) == biases.end())
      failures.push_back(other_parameter(constant.candidate, constant.sqnr_db, same_constant_db));
  result.verdict = with_failures(std::move(result.verdict), std::move(failures));
}

// Weights that were not rounded from the reference's, where these would serve better: those of
// another checkpoint. Rounding that was tuned to the outputs serves better than to nearest.
void doubt_checkpoint(CompareResult& result, const ComparedRun& run) {
  const auto& weights = result.evidence.weights;
  const auto& structure = result.evidence.structure;
  const bool explained = structure && is_other_network(*structure);
  if (explained || !weights || weights->answer != WeightEvidence::Answer::same ||
      result.exact_outputs.empty())
    return;
  const auto unrounded = find_unrounded_weights(run.read, run.models.candidate, *weights);
  if (unrounded.empty()) return;
  const Model rounded = with_reference_biases(with_rounded_weights(run.extended.model(), unrounded),
                                              other_biases(*weights, run, rounded_bias_db));
  const double gain = gain_of(rounded, result, run);
  if (!(gain > costly_db)) return;
  add_doubt(result, {DoubtKind::other_checkpoint, unrounded[0].candidate, gain, costly_db});
}

// An activation range that costs accuracy; nullopt also if no output holds a nonzero float.
std::optional<NarrowRange> costly_range(SwitchedModel model, bool real_inputs,
                                        const ComparedRun& run) {
  try {
    return find_costly_range(std::move(model), run.samples, run.options.candidate_runtime,
                             real_inputs);
  } catch (const Stopped&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// A range that is too narrow although limits are kept and the calibration fit does not show it.
std::optional<NarrowRange> find_narrow_range(const CompareResult& result,
                                             std::optional<SwitchedModel> model,
                                             const ComparedRun& run) {
  if (!result.verdict.pass() || !result.evidence.calibration) return std::nullopt;
  if (model)
    if (auto costly = costly_range(*std::move(model), result.evidence.real_inputs, run))
      return costly;
  if (result.evidence.real_inputs || !run.models.reference) return std::nullopt;
  run.close_reference();
  return find_narrow_input(*run.read.model, run.models.candidate, run.samples,
                           run.options.candidate_runtime);
}

// Doubts a pass that depends on which synthetic inputs were picked. Picked samples are as loud as
// the loudest calibration data, and outputs have a better SQNR on them than on ordinary ones. So
// the samples that were not picked have to keep the limits too; only those on the mean, since some
// of these samples are hardly realistic.
void ask_others(CompareResult& result, const ComparedRun& run) {
  const Evidence& evidence = result.evidence;
  Samples* others = run.samples.others();
  if (!result.verdict.pass() || !others || evidence.real_inputs || evidence.own_limits) return;
  CompareOptions again = options_like(run.options.compare);
  again.parts.clear();  // the verdict has no limits for parts
  again.evidence.quantized = evidence.quantized;
  std::ranges::copy_if(result.verdict.limits, std::back_inserter(again.limits),
                       [](const Limit& limit) { return limit.metric.ends_with("_mean"); });
  OrtRunner candidate = exact_runner(run.extended.model(), run.options.candidate_runtime);
  const CompareResult compared = compare(run.reference, candidate, *others, again);
  if (compared.interrupted) {
    result.interrupted = true;
    result.verdict = interrupted_verdict(std::move(result.verdict), compared.samples,
                                         others->size() / again.io.steps);
  } else if (!compared.verdict.failures.empty()) {
    result.evidence.others = compared.verdict.failures.front();
    result.verdict = make_verdict(result.verdict.limits, {}, result.evidence);
  }
}

// Why the candidate loses accuracy as it runs here: measured on the first samples, on the output
// that loses most. nullopt if the loss is small or the candidate cannot be run another way.
std::optional<ArithmeticLoss> explained_loss(const CompareResult& result, const ComparedRun& run) {
  const OrtOptions& runtime = run.options.candidate_runtime;
  if (!is_noticeable_loss(result.runtime_loss_db) || !is_cpu(runtime.provider)) return std::nullopt;
  CompareOptions again = options_like(run.options.compare);
  again.before.clear();  // an additional output may prevent a fusion by the optimiser
  const auto few = first_samples(run.samples, few_samples * again.io.steps);
  const auto outputs_of = [&](Runner& runner) {
    return compare(run.reference, runner, *few, again).outputs;
  };
  const Model& candidate = run.models.candidate.model();
  try {
    OrtRunner in_exact = exact_runner(candidate, runtime), here(candidate.clone(), runtime);
    const auto exact = outputs_of(in_exact), as_run = outputs_of(here);
    std::optional<ArithmeticLoss> worst;
    std::size_t output = 0;
    for (std::size_t i = 0; i < std::min(exact.size(), as_run.size()); ++i) {
      const ArithmeticLoss loss{exact[i].name, exact[i].similarity.statistics[0].mean,
                                as_run[i].similarity.statistics[0].mean};
      if (!std::isfinite(loss.db()) || (worst && !(loss.db() > worst->db()))) continue;
      worst = loss;
      output = i;
    }
    if (!worst || !is_noticeable_loss(worst->db())) return std::nullopt;
    explain_loss(*worst, {run.models.candidate, run.models.reference, runtime}, few->sample(0),
                 [&](const Model& model, const OrtOptions& options) {
                   OrtRunner runner(model.clone(), options);
                   return outputs_of(runner).at(output).similarity.statistics[0].mean;
                 });
    return worst;
  } catch (const Stopped&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The candidate with switches; nullopt, with a warning, if it cannot be made.
std::optional<SwitchedModel> switched_or_warned(CompareResult& result, const ComparedRun& run) {
  try {
    return switched(result, run);
  } catch (const Stopped&) {
    throw;
  } catch (const Error& error) {
    result.warnings.push_back({WarningKind::unmeasured_form, error.what()});
    return std::nullopt;
  }
}

}  // namespace

void judge_by_further_runs(CompareResult& result, const ComparedRun& run) {
  if (result.interrupted) return;
  std::optional<SwitchedModel> model =
      run.is_whole ? switched_or_warned(result, run) : std::nullopt;
  if (run.is_whole) judge_structure(result, model, run);
  result.evidence.narrow = find_narrow_range(result, std::move(model), run);
  if (result.evidence.narrow) judge_anew(result);
  if (run.is_whole) judge_parameters(result, run);
  if (run.is_whole) doubt_checkpoint(result, run);
  if (run.is_whole) result.arithmetic = explained_loss(result, run);
  ask_others(result, run);
}

}  // namespace vernier
