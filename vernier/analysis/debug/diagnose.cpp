#include "vernier/analysis/debug/diagnose.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>

#include "vernier/metrics/similarity.h"

namespace vernier {
namespace {

std::optional<double> sqnr_of(const std::optional<NoiseSums>& sums) {
  return sums ? std::optional(sqnr_db(*sums)) : std::nullopt;
}

// Rounding to multiples of a step causes noise of step^2 / 12 per element.
std::optional<double> estimated_sqnr_db(const NoiseSums& signal, const Quantizer& quantizer) {
  const auto range = representable_range(quantizer);
  if (!range || signal.count == 0) return std::nullopt;
  const double noise = static_cast<double>(signal.count) * range->step * range->step / 12;
  return 10 * std::log10(signal.reference_squares / noise);
}

DamageVerdict verdict_of(const DebugActivation& row, double low_db) {
  const auto is_low = [&](const std::optional<double>& sqnr) { return sqnr && !(*sqnr >= low_db); };
  if (!row.local_sqnr_db && !row.cumulative_sqnr_db) return DamageVerdict::unmatched;
  if (row.local_sqnr_db.value_or(INFINITY) == INFINITY &&
      row.cumulative_sqnr_db.value_or(INFINITY) == INFINITY)
    return DamageVerdict::exact;
  const bool damaged = !row.cumulative_sqnr_db || is_low(row.cumulative_sqnr_db);
  if (is_low(row.own_sqnr_db()))
    return damaged ? DamageVerdict::originator : DamageVerdict::healthy;
  if (is_low(row.cumulative_sqnr_db)) return DamageVerdict::inheritor;
  return is_low(row.local_sqnr_db) ? DamageVerdict::clipped_by_design : DamageVerdict::healthy;
}

DebugActivation activation_row(const PlannedTensor& planned, const TensorSums& sums,
                               const ValueHistogram& histogram, double low_db) {
  const QuantizedActivation& activation = planned.activation;
  DebugActivation row{.tensor_name = activation.name,
                      .local_sqnr_db = sqnr_of(sums.local),
                      .intended_sqnr_db = sqnr_of(sums.intended),
                      .cumulative_sqnr_db = sqnr_of(sums.cumulative),
                      .introduced_sqnr_db = sqnr_of(sums.introduced),
                      .nonfinite = sums.nonfinite,
                      .counterpart = planned.counterpart,
                      .node = activation.writer,
                      .op = activation.writer_op,
                      .dynamic = activation.dynamic};
  if (!activation.stored.empty()) row.quantizer = activation.quantizer;
  if (row.quantizer && !row.local_sqnr_db && sums.signal) {
    row.local_sqnr_db = estimated_sqnr_db(*sums.signal, *row.quantizer);
    row.local_is_estimated = row.local_sqnr_db.has_value();
  }
  if (planned.range)
    row.noise = assess_range(sums.observed, histogram, *planned.range,
                             planned.folded.value_or(ClipRange{}));
  if (row.noise && sums.local && sums.local->difference_squares > 0)
    row.rounding_share =
        std::max(0.0, 1 - row.noise->clipping_noise / sums.local->difference_squares);
  if (sums.cumulative && std::isfinite(sums.cumulative->reference_squares))
    row.nonfinite += sums.nonfinite_inputs;
  row.verdict = verdict_of(row, low_db);
  return row;
}

// Rows in the order in which the tensors were first produced; those that never were come last.
std::vector<DebugActivation> activation_rows(const DebugPlan& plan, const Measurements& measured,
                                             double low_db) {
  std::vector<std::size_t> order = measured.sums.order;
  std::vector<bool> is_produced(plan.tensors.size());
  for (const std::size_t i : measured.sums.order) is_produced[i] = true;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i)
    if (!is_produced[i]) order.push_back(i);
  std::vector<DebugActivation> rows;
  for (const std::size_t i : order)
    rows.push_back(activation_row(plan.tensors[i], measured.sums.tensors[i],
                                  measured.sums.histograms[i], low_db));
  return rows;
}

DebugNote::Kind note_kind(UnreadQuantization::Reason reason) {
  switch (reason) {
    case UnreadQuantization::Reason::computed_scale: return DebugNote::Kind::computed_scale;
    case UnreadQuantization::Reason::unknown_weight_scale:
      return DebugNote::Kind::unknown_weight_scale;
    case UnreadQuantization::Reason::computed_weight: return DebugNote::Kind::computed_weight;
    case UnreadQuantization::Reason::unknown_operator: break;
  }
  return DebugNote::Kind::unknown_operator;
}

// One note for all subjects of the same kind and detail.
std::vector<DebugNote> notes_of(const DebugPlan& plan, const Measurements& measured,
                                const DebugResult& result) {
  std::map<std::pair<DebugNote::Kind, std::string>, std::vector<std::string>> subjects;
  for (const UnreadQuantization& unread : plan.unread) {
    const DebugNote::Kind kind = note_kind(unread.reason);
    const bool by_type = kind == DebugNote::Kind::unknown_operator;
    subjects[{kind, by_type ? unread.op : ""}].push_back(unread.subject);
  }
  const auto add_layout = [&](const std::string& layout, const std::string& tensor) {
    if (!layout.empty()) subjects[{DebugNote::Kind::other_layout, layout}].push_back(tensor);
  };
  for (std::size_t i = 0; i < plan.tensors.size(); ++i)
    add_layout(measured.tensor_layouts[i], plan.tensors[i].activation.name);
  for (std::size_t i = 0; i < measured.sums.outputs.size(); ++i)
    add_layout(measured.output_layouts[i], measured.sums.outputs[i].name);
  auto& unmatched = subjects[{DebugNote::Kind::no_counterpart, ""}];
  for (const DebugActivation& row : result.activations)
    if (!row.counterpart) unmatched.push_back(row.tensor_name);
  for (const DebugWeight& row : result.weights)
    if (!row.weight_sqnr_db) unmatched.push_back(row.weight_name);
  subjects[{DebugNote::Kind::no_tensor, ""}] = measured.other_outputs;
  std::vector<DebugNote> notes;
  for (auto& [key, names] : subjects)
    if (!names.empty()) notes.push_back({key.first, std::move(names), key.second});
  return notes;
}

double rank(const std::optional<double>& sqnr_db) {
  return !sqnr_db ? INFINITY : std::isnan(*sqnr_db) ? -INFINITY : *sqnr_db;
}

// The rows that their own quantizer damages, lowest own SQNR first.
std::vector<std::size_t> originators(const std::vector<DebugActivation>& rows) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].verdict == DamageVerdict::originator) indices.push_back(i);
  std::ranges::stable_sort(indices, {}, [&](std::size_t i) { return rank(rows[i].own_sqnr_db()); });
  return indices;
}

template <typename Row>
Statistics summarise(const std::vector<Row>& rows, std::optional<double> Row::*value) {
  std::vector<SampleValue> values;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].*value) values.push_back({static_cast<std::int64_t>(i), *(rows[i].*value)});
  return statistics(values);
}

// The fit of the inputs to the calibration, over quantizers whose range follows from their values:
// not behind a Clip or another operator that bounds its output.
std::optional<CalibrationFit> calibration_fit(const DebugPlan& plan, const Measurements& measured) {
  std::vector<UsedRange> ranges;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlannedTensor& planned = plan.tensors[i];
    const QuantizedActivation& activation = planned.activation;
    if (activation.stored.empty() || activation.dynamic) continue;
    const auto range = representable_range(activation.quantizer);
    const std::string& op = activation.writer_op;
    const bool bounded = op == "Clip" || op == "HardSigmoid" || op == "HardSwish" ||
                         (planned.folded && std::isfinite(planned.folded->high));
    if (!range || bounded) continue;
    const ObservedValues& observed = measured.sums.tensors[i].observed;
    const bool low = range->low<0, high = range->high> 0;
    const double largest = std::max(low ? -range->low : 0, high ? range->high : 0);
    if (!(largest > 0)) continue;
    ranges.push_back(
        {.name = activation.name,
         .representable = largest,
         .use = {.largest = std::max({0.0, low ? -observed.low : 0, high ? observed.high : 0}),
                 .clipped = (low ? observed.clipped - observed.clipped_above : 0) +
                            (high ? observed.clipped_above : 0),
                 .elements = observed.count},
         .is_wide = is_wide(activation.quantizer)});
  }
  const CalibrationFit fit = fit_of(ranges);
  return fit.quantizers > 0 ? std::optional(fit) : std::nullopt;
}

std::vector<Judged> judged_rows(const DebugResult& result) {
  std::vector<Judged> rows;
  for (const DebugOutput& row : result.model_outputs)
    rows.push_back({row.output_name, "output", {{"cumulative", row.cumulative_sqnr_db}}});
  for (const DebugActivation& row : result.activations) {
    rows.push_back({row.tensor_name, "activation", {{"cumulative", row.cumulative_sqnr_db}}});
    if (row.quantizer || row.dynamic) rows.back().metrics.emplace_back("local", row.local_sqnr_db);
  }
  for (const DebugWeight& row : result.weights)
    rows.push_back({row.weight_name, "weight", {{"weight", row.weight_sqnr_db}}});
  return rows;
}

// Failures independent of limits: outputs that could not be compared, NaN and infinity that the
// float model does not have, and outputs that are not finite in the float model itself.
std::vector<Failure> failures_without_limits(const DebugResult& result) {
  std::vector<Failure> failures;
  for (const DebugOutput& row : result.model_outputs) {
    if (row.status == PairStatus::shape_mismatch)
      failures.push_back(
          shape_failure(row.output_name, "output", row.reference_shape, row.candidate_shape));
    else if (row.status != PairStatus::compared)
      failures.push_back(
          missing_failure(row.output_name, "output",
                          row.status == PairStatus::only_in_reference ? "candidate" : "reference"));
    if (row.nonfinite > 0)
      failures.push_back(nonfinite_failure(row.output_name, "output", "candidate",
                                           static_cast<double>(row.nonfinite)));
    else if (row.reference_nonfinite)
      failures.push_back(nonfinite_failure(row.output_name, "output", "reference", 1));
  }
  for (const DebugActivation& row : result.activations)
    if (row.nonfinite > 0)
      failures.push_back(nonfinite_failure(row.tensor_name, "activation", "candidate",
                                           static_cast<double>(row.nonfinite)));
  return failures;
}

Verdict judge(const DebugResult& result, const std::vector<Limit>& limits) {
  const std::vector<Judged> rows = judged_rows(result);
  std::vector<std::string> names = {"output", "activation", "weight"};
  for (const Judged& row : rows) names.push_back(row.name);
  require_tensors(limits, names);
  std::vector<Failure> failures = failures_without_limits(result);
  std::ranges::move(judge(limits, rows), std::back_inserter(failures));
  return make_verdict(limits, failures, result.evidence);
}

}  // namespace

std::optional<double> DebugActivation::own_sqnr_db() const {
  if (intended_sqnr_db) return intended_sqnr_db;
  return local_sqnr_db ? local_sqnr_db : introduced_sqnr_db;
}

std::string_view damage_verdict_name(DamageVerdict verdict) {
  switch (verdict) {
    case DamageVerdict::exact: return "exact";
    case DamageVerdict::healthy: return "healthy";
    case DamageVerdict::clipped_by_design: return "clipped by design";
    case DamageVerdict::originator: return "originator";
    case DamageVerdict::inheritor: return "inheritor";
    case DamageVerdict::unmatched: return "unmatched";
  }
  return "";
}

std::vector<std::string> debug_limit_metrics() { return {"local", "cumulative", "weight"}; }

DebugResult diagnose(const DebugPlan& plan, const Measurements& measured,
                     std::vector<DebugWeight> weights, Evidence evidence,
                     const DebugOptions& options) {
  DebugResult result{.activations = activation_rows(plan, measured, options.low_db),
                     .weights = std::move(weights),
                     .evidence = std::move(evidence),
                     .arithmetic = measured.arithmetic,
                     .samples = measured.samples,
                     .interrupted = measured.interrupted};
  for (const OutputSums& output : measured.sums.outputs)
    result.model_outputs.push_back(
        {.output_name = output.name,
         .status = output.status,
         .cumulative_sqnr_db = sqnr_of(output.cumulative),
         .nonfinite = output.nonfinite,
         .reference_nonfinite =
             output.cumulative && !std::isfinite(output.cumulative->reference_squares),
         .reference_shape = output.reference_shape,
         .candidate_shape = output.candidate_shape,
         .kl_mean = output.kl.mean()});
  result.originators = originators(result.activations);
  result.notes = notes_of(plan, measured, result);
  result.local = summarise(result.activations, &DebugActivation::local_sqnr_db);
  result.cumulative = summarise(result.activations, &DebugActivation::cumulative_sqnr_db);
  result.weight = summarise(result.weights, &DebugWeight::weight_sqnr_db);
  result.evidence.calibration = calibration_fit(plan, measured);
  result.verdict = judge(result, options.limits);
  if (result.interrupted)
    result.verdict =
        interrupted_verdict(std::move(result.verdict), result.samples, measured.wanted_samples);
  return result;
}

}  // namespace vernier
