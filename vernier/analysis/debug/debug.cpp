#include "vernier/analysis/debug/debug.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <mutex>

#include "vernier/analysis/debug/activation_damage.h"
#include "vernier/analysis/debug/weight_damage.h"
#include "vernier/analysis/pairing/by_value.h"
#include "vernier/error.h"
#include "vernier/metrics/parallel.h"
#include "vernier/runtime/ort_session.h"

namespace vernier {
namespace {

// What a quantizer cuts off in place of a Relu or Clip is no damage of its own.
DamageVerdict verdict_of(const DebugActivation& row, double low_db) {
  const auto is_low = [&](const std::optional<double>& sqnr) { return sqnr && !(*sqnr >= low_db); };
  if (!row.local_sqnr_db && !row.cumulative_sqnr_db) return DamageVerdict::unmatched;
  if (row.local_sqnr_db.value_or(INFINITY) == INFINITY &&
      row.cumulative_sqnr_db.value_or(INFINITY) == INFINITY)
    return DamageVerdict::exact;
  const bool damaged = !row.cumulative_sqnr_db || is_low(row.cumulative_sqnr_db);
  if (is_low(row.intended_sqnr_db ? row.intended_sqnr_db : row.local_sqnr_db))
    return damaged ? DamageVerdict::originator : DamageVerdict::healthy;
  if (is_low(row.cumulative_sqnr_db)) return DamageVerdict::inheritor;
  return is_low(row.local_sqnr_db) ? DamageVerdict::clipped_by_design : DamageVerdict::healthy;
}

Statistics summarise(const std::vector<std::optional<double>>& values) {
  std::vector<SampleValue> present;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i]) present.push_back({static_cast<std::int64_t>(i), *values[i]});
  return statistics(present);
}

template <typename Row, typename Member>
Statistics summarise(const std::vector<Row>& rows, Member member) {
  std::vector<std::optional<double>> values;
  for (const Row& row : rows) values.push_back(row.*member);
  return summarise(values);
}

std::vector<Judged> judged_rows(const DebugResult& result) {
  std::vector<Judged> rows;
  for (const DebugOutput& row : result.model_outputs)
    rows.push_back({row.output_name, "output", {{"cumulative", row.cumulative_sqnr_db}}});
  for (const DebugActivation& row : result.activations) {
    rows.push_back({row.tensor_name, "activation", {{"cumulative", row.cumulative_sqnr_db}}});
    if (row.quantizer) rows.back().metrics.emplace_back("local", row.local_sqnr_db);
  }
  for (const DebugWeight& row : result.weights)
    rows.push_back({row.weight_name, "weight", {{"weight", row.weight_sqnr_db}}});
  return rows;
}

// What the float model itself does not know cannot be judged where it is an output.
std::vector<Failure> nonfinite_failures(const DebugResult& result) {
  std::vector<Failure> failures;
  const auto add = [&](const std::string& name, const char* group, const char* side) {
    failures.push_back(
        {.subject = name, .group = group, .metric = side, .kind = FailureKind::nonfinite});
  };
  for (const DebugOutput& row : result.model_outputs)
    if (row.reference_nonfinite || row.nonfinite)
      add(row.output_name, "output", row.nonfinite ? "candidate" : "reference");
  for (const DebugActivation& row : result.activations)
    if (row.nonfinite) add(row.tensor_name, "activation", "candidate");
  return failures;
}

Verdict judge(const DebugResult& result, const std::vector<Limit>& limits) {
  const std::vector<Judged> rows = judged_rows(result);
  std::vector<std::string> names = {"output", "activation", "weight"};
  for (const Judged& row : rows) names.push_back(row.name);
  require_tensors(limits, names);
  std::vector<Failure> failures = nonfinite_failures(result);
  std::ranges::move(judge(limits, rows), std::back_inserter(failures));
  return make_verdict(limits, std::move(failures));
}

Quantization require_quantization(const Model& float_model, const Model& quantized_model) {
  Quantization quantization = find_quantization(quantized_model);
  if (!quantization.empty()) return quantization;
  if (float_model.serialize() == quantized_model.serialize())
    throw Error(
        fmt::format("[debug] {} and {} are the same model; pass the quantized one as --quant-model",
                    float_model.name(), quantized_model.name()));
  if (!find_quantization(float_model).empty())
    throw Error(fmt::format(
        "[debug] {} is the quantized one of the two; swap --float-model and --quant-model",
        float_model.name()));
  throw Error(
      fmt::format("[debug] {}: nothing in it is quantized; pass a quantized model as --quant-model",
                  quantized_model.name()));
}

const std::string& watched_name(const QuantizedActivation& activation) {
  return activation.after.empty() ? activation.stored : activation.after;
}

// The real values of the activations without a counterpart, by their place in the list.
std::map<std::size_t, Tensor> unmatched_values(const Model& model,
                                               const std::vector<QuantizedActivation>& activations,
                                               const std::vector<Counterpart>& counterparts,
                                               const std::vector<Tensor>& sample,
                                               OrtOptions runtime) {
  std::multimap<std::string, std::size_t> wanted;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < activations.size(); ++i)
    if (!counterparts[i]) {
      wanted.emplace(watched_name(activations[i]), i);
      names.push_back(watched_name(activations[i]));
    }
  runtime.watch = Watch::only(names);
  std::map<std::size_t, Tensor> values;
  OrtRunner(model.clone(), runtime).run(sample, [&](const TensorView& tensor) {
    const auto [first, last] = wanted.equal_range(std::string(tensor.name));
    for (auto entry = first; entry != last; ++entry) {
      const QuantizedActivation& activation = activations[entry->second];
      values[entry->second] =
          activation.after.empty() ? dequantize(tensor, activation.quantizer) : copy(tensor);
    }
  });
  return values;
}

std::vector<Counterpart> find_counterparts(const Model& float_model, const Model& quantized_model,
                                           const Quantization& quantization,
                                           const CounterpartFinder& finder,
                                           const std::vector<Tensor>& sample,
                                           const OrtOptions& runtime) {
  std::vector<Counterpart> counterparts;
  for (const QuantizedActivation& activation : quantization.activations)
    counterparts.push_back(finder.activation(activation));
  if (std::ranges::all_of(counterparts, [](const Counterpart& found) { return bool(found); }))
    return counterparts;
  const auto values =
      unmatched_values(quantized_model, quantization.activations, counterparts, sample, runtime);
  OrtOptions watching = runtime;
  watching.watch = Watch::all();
  OrtRunner runner(float_model.clone(), watching);
  const InputBindings bindings = bind_inputs(quantized_model.inputs(), runner.inputs());
  return match_by_value(runner, apply_bindings(bindings, runner.inputs(), sample), values,
                        std::move(counterparts));
}

bool any_counterpart(const ActivationSites& sites, const CounterpartFinder& counterparts) {
  for (std::size_t i = 0; i < sites.size(); ++i)
    if (const Counterpart& counterpart = sites[i].counterpart;
        counterpart && !counterparts.is_input(counterpart.tensor))
      return true;
  return false;
}

void require_related(const ActivationSites& sites, const CounterpartFinder& counterparts,
                     const std::vector<DebugWeight>& weights, const Model& float_model,
                     const Model& quantized_model) {
  const bool weight_counterpart = std::ranges::any_of(
      weights, [](const DebugWeight& weight) { return weight.weight_sqnr_db.has_value(); });
  if (weight_counterpart || any_counterpart(sites, counterparts)) return;
  throw Error(
      fmt::format("[debug] no tensor of {} was recognised in {}; are they the same network?",
                  quantized_model.name(), float_model.name()));
}

// What is to be measured while the models run. What is known without a run goes into the result.
ActivationSites find_sites(const Model& float_model, const Model& quantized_model,
                           const std::vector<Tensor>& sample, const OrtOptions& runtime,
                           DebugResult& result) {
  const Quantization quantization = require_quantization(float_model, quantized_model);
  const CounterpartFinder counterparts(float_model);
  result.weights = measure_weights(quantization.weights, counterparts);
  result.notes = quantization.notes;
  ActivationSites sites(
      quantization,
      find_counterparts(float_model, quantized_model, quantization, counterparts, sample, runtime),
      counterparts);
  require_related(sites, counterparts, result.weights, float_model, quantized_model);
  return sites;
}

// Models whose tensors are this small in all are run in turn, by several threads: two that wait for
// each other at every tensor would take more time.
constexpr std::int64_t small_bytes = std::int64_t{4} << 20;

// Inside the operators of a model as small as this, threads only get in each other's way.
OrtOptions without_needless_threads(OrtOptions runtime, const Model& model,
                                    const std::vector<Tensor>& sample) {
  constexpr std::int64_t tiny_weights = std::int64_t{4} << 20, tiny_inputs = 64 << 10;
  std::int64_t inputs = 0;
  for (const Tensor& input : sample) inputs += std::ssize(input.bytes);
  if (runtime.threads == 0 && model.weight_bytes() <= tiny_weights && inputs <= tiny_inputs)
    runtime.threads = 1;
  return runtime;
}

// Two at least, for in lockstep it takes two as well.
int samples_at_once(const OrtOptions& runtime) {
  return std::max(2, thread_count(runtime.threads));
}

void measure_samples(ActivationDamage& damage, const std::vector<Tensor>& first, Samples& samples,
                     const DebugOptions& options, DebugResult& result) {
  const auto add = [&](const SampleDamage& sample) {
    damage.add(sample);
    ++result.samples;
    if (options.progress) result.interrupted = !options.progress(result.samples, samples.size());
    return !result.interrupted;
  };
  const bool small = damage.add_introduced(first) <= small_bytes;
  std::mutex reading;
  const auto measure = [&](std::int64_t number) {
    std::unique_lock lock(reading);
    const std::vector<Tensor> sample = samples.sample(number);
    lock.unlock();
    return damage.measure(number, sample, small ? Schedule::sequential : Schedule::lockstep);
  };
  if (!add(measure(0))) return;  // alone: layouts are learnt from it
  parallel_in_order(1, samples.size(), small ? samples_at_once(options.runtime) : 1, measure, add);
}

}  // namespace

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

DebugResult debug(const Model& float_model, const Model& quantized_model, Samples& samples,
                  const DebugOptions& options) {
  // It takes ONNX Runtime some time to get ready; what follows can do without for a while.
  const auto ready = std::async(std::launch::async, [] { ort_environment(); });
  const std::vector<Tensor> first = samples.sample(0);
  DebugResult result;
  ActivationDamage damage(float_model, quantized_model,
                          find_sites(float_model, quantized_model, first, options.runtime, result),
                          without_needless_threads(options.runtime, float_model, first));
  measure_samples(damage, first, samples, options, result);
  result.activations = damage.activations();
  for (DebugActivation& row : result.activations) row.verdict = verdict_of(row, options.low_db);
  result.advice = advise(result.activations);
  result.model_outputs = damage.outputs();
  std::ranges::copy(damage.notes(), std::back_inserter(result.notes));
  result.local = summarise(result.activations, &DebugActivation::local_sqnr_db);
  result.cumulative = summarise(result.activations, &DebugActivation::cumulative_sqnr_db);
  result.weight = summarise(result.weights, &DebugWeight::weight_sqnr_db);
  result.verdict = judge(result, options.limits);
  return result;
}

}  // namespace vernier
