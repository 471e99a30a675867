#include "vernier/analysis/evidence/further_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "vernier/analysis/compare/arithmetic.h"
#include "vernier/analysis/evidence/bias_evidence.h"
#include "vernier/analysis/evidence/switched_models.h"
#include "vernier/analysis/evidence/widened_model.h"
#include "vernier/analysis/layers/layers.h"
#include "vernier/analysis/quantize/bias_correction.h"
#include "vernier/error.h"
#include "vernier/model/precision.h"
#include "vernier/model/tensor_data.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr std::int64_t structure_samples = 4;

// The model in exact arithmetic, as its file says.
OrtRunner exact_runner(const Model& model, OrtOptions runtime) {
  runtime.exact = true;
  runtime.optimization = Optimization::disabled;
  return OrtRunner(model.clone(), runtime);
}

// As the first run was made, but for limits.
CompareOptions options_like(const CompareOptions& first) {
  return {.allow_missing = true,
          .before = first.before,
          .outputs_by_position = first.outputs_by_position,
          .io = first.io};
}

// Nothing where the weights are others, or the reference is quantized, too.
std::optional<SwitchedModel> switched(const CompareResult& result, const ComparedRun& run) {
  const WeightEvidence weights = result.evidence.weights.value_or(WeightEvidence());
  const Model* reference = run.models.reference;
  if (!result.evidence.quantized || weights.answer == WeightEvidence::Answer::different ||
      (reference && precision_of(*reference) == Precision::int8))
    return std::nullopt;
  std::optional<ModelIndex> float_model;
  if (reference) float_model.emplace(*reference);
  return switch_quantizers(float_model ? &*float_model : nullptr, ModelIndex(run.extended),
                           weights);
}

// Whether what rounding took from a bias is too little to show.
bool is_fine(const QuantizedWeight& bias) {
  if (bias.quantizer.dtype != DType::i32) return false;
  const std::vector<double> values = to_f64(bias.real()), steps = to_f64(bias.quantizer.scale);
  if (steps.empty()) return false;
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    signal += values[i] * values[i];
    noise += steps[i % steps.size()] * steps[i % steps.size()] / 12;
  }
  return signal == 0 || 10 * std::log10(signal / noise) >= same_structure_db;
}

// What stays quantized and may show.
std::vector<Unswitched> showing(std::vector<Unswitched> unswitched, const Quantization& found) {
  std::erase_if(unswitched, [&](const Unswitched& each) {
    const auto weight = std::ranges::find(found.weights, each.subject, &QuantizedWeight::name);
    return weight != found.weights.end() && is_fine(*weight);
  });
  return unswitched;
}

// The candidate in float32, with the reference's weights: without its quantizers, or widened from
// half precision.
struct FloatForm {
  Model model;
  std::vector<std::string> rounded;  // what keeps its precision, and may show
  bool only_fine = false;            // as StructureEvidence has it
};

// A bias that `vernier quantize` has corrected for what rounding does on the mean is not the
// reference's, and needs no correction in float32.
void restore_corrected(Model& model, const Model& reference) {
  constexpr double corrected_db = 20;  // at least, of what it corrects
  const ModelIndex index(reference);
  for (auto& proto : *model.graph().mutable_initializer()) {
    if (!proto.name().ends_with(corrected_suffix)) continue;
    const Weight* weight =
        index.weight(proto.name().substr(0, proto.name().size() - corrected_suffix.size()));
    if (!weight) continue;
    const Tensor corrected = model.tensor(proto);
    Tensor original = copy(reference.view(*weight->proto));
    if (original.dtype != corrected.dtype || original.size() != corrected.size() ||
        !(sqnr_db(measure_noise(original, corrected)) >= corrected_db))
      continue;
    original.name = corrected.name;
    original.shape = corrected.shape;
    proto = make_tensor_proto(original);
  }
}

FloatForm float_form(const SwitchedModel& switched, const ComparedRun& run) {
  FloatForm form{.model = switched_off({switched.model.clone(), {}, {}})};
  if (run.models.reference) restore_corrected(form.model, *run.models.reference);
  const Quantization quantization = find_quantization(run.extended);
  for (const Unswitched& each : showing(switched.unswitched, quantization))
    form.rounded.push_back(each.subject);
  form.only_fine = std::ranges::all_of(form.rounded, [&](const std::string& name) {
    const auto weight = std::ranges::find(quantization.weights, name, &QuantizedWeight::name);
    return weight != quantization.weights.end() && bits(weight->quantizer.dtype) >= 8;
  });
  return form;
}

// Nothing where the candidate is not in half precision, its weights are others, or the reference is
// no float32 model.
std::optional<FloatForm> widened(const CompareResult& result, const ComparedRun& run) {
  const WeightEvidence weights = result.evidence.weights.value_or(WeightEvidence());
  const Model* reference = run.models.reference;
  if (!result.evidence.half || weights.answer != WeightEvidence::Answer::same || !reference ||
      precision_of(*reference) != Precision::fp32 || run.extended.proto().functions_size() > 0)
    return std::nullopt;
  WidenedModel model = widen(ModelIndex(*reference), run.extended, weights);
  return FloatForm{std::move(model.model), std::move(model.rounded)};
}

// Samples of a candidate in half precision, for the same in float32.
class WidenedSamples : public Samples {
 public:
  explicit WidenedSamples(std::unique_ptr<Samples> all) : all_(std::move(all)) {}
  std::int64_t size() const override { return all_->size(); }
  std::int64_t number(std::int64_t index) const override { return all_->number(index); }
  std::vector<Tensor> sample(std::int64_t index) override {
    std::vector<Tensor> tensors = all_->sample(index);
    for (Tensor& tensor : tensors)
      if (tensor.dtype == DType::f16 || tensor.dtype == DType::bf16)
        tensor = convert(tensor, DType::f32);
    return tensors;
  }

 private:
  std::unique_ptr<Samples> all_;
};

// Takes the output as evidence where it agrees less than what was found so far.
void take_worst(StructureEvidence& structure, const std::string& output, double sqnr_db) {
  if (!(sqnr_db < structure.sqnr_db)) return;
  structure.output = output;
  structure.sqnr_db = sqnr_db;
}

// Whether an output behind a final Softmax or Sigmoid, which are at most 1, is the same but for
// rounding. Where it levels off that is as large as the output, and only what goes in tells.
bool is_rounded_activation(const PairResult& output) {
  constexpr double rounding = 1e-5;
  return output.similarity.statistics[*find_metric("max_abs_diff")].max <= rounding;
}

// How far the candidate in float32 is from the reference, on the first samples. Nothing where it
// cannot be run.
std::optional<StructureEvidence> measure_structure(const FloatForm& form, const ComparedRun& run) {
  StructureEvidence structure{
      .sqnr_db = INFINITY, .unswitched = std::ssize(form.rounded), .only_fine = form.only_fine};
  if (!form.rounded.empty()) structure.first_unswitched = form.rounded[0];
  // Without the optimiser: one of its fusions does not find scales outside of a subgraph.
  OrtOptions runtime = run.options.candidate_runtime;
  runtime.optimization = Optimization::disabled;
  CompareOptions again = options_like(run.options.compare);
  again.limits = {{.metric = "sqnr_db_mean", .fails = Limit::Fails::below, .value = INFINITY}};
  try {
    OrtRunner runner(form.model.clone(), runtime);
    WidenedSamples samples(first_samples(run.samples, structure_samples * again.io.steps));
    const CompareResult compared = compare(run.reference, runner, samples, again);
    for (const Failure& failure : compared.verdict.failures)
      if (failure.kind != FailureKind::missing)
        take_worst(structure, failure.subject, failure.value);
    for (const PairResult& output : compared.outputs)
      if (std::ranges::count(compared.before_activation, output.name, &PairResult::name) > 0 &&
          !is_rounded_activation(output))
        take_worst(structure, output.name, output.similarity.statistics[0].mean);
  } catch (const Stopped&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;
  }
  return structure;
}

// "[1,1]", "1"; "" of what is no number.
std::string value_text(const vernier_onnx::AttributeProto& attribute) {
  using vernier_onnx::AttributeProto;
  switch (attribute.type()) {
    case AttributeProto::INTS: return fmt::format("[{}]", fmt::join(attribute.ints(), ","));
    case AttributeProto::INT: return fmt::format("{}", attribute.i());
    case AttributeProto::FLOAT: return fmt::format("{:g}", attribute.f());
    case AttributeProto::STRING: return attribute.s();
    default: return "";
  }
}

// What both nodes set, and the candidate's otherwise: "pads is [0,0,2,2], the reference's
// [1,1,1,1]".
std::string other_attribute(const vernier_onnx::NodeProto& reference,
                            const vernier_onnx::NodeProto& candidate) {
  for (const auto& expected : reference.attribute())
    for (const auto& found : candidate.attribute())
      if (found.name() == expected.name() && value_text(found) != value_text(expected))
        return fmt::format("{} is {}, the reference's {}", found.name(), value_text(found),
                           value_text(expected));
  return "";
}

// Of the node that writes the layer in the reference, and the candidate's of its name.
std::string other_attribute(const LayerRow& row, const ComparedRun& run) {
  const ModelIndex reference(*run.models.reference), candidate(run.models.candidate);
  const auto* expected = reference.main().producer(row.layer);
  if (!expected || expected->name().empty()) return "";
  const auto* found = candidate.node(expected->name());
  if (!found) found = candidate.node(expected->name() + "_quant");  // as ONNX Runtime calls it
  return found ? other_attribute(*expected, *found->node) : "";
}

// "attribute_mismatch: pads is [0,0,2,2], the reference's [1,1,1,1]"
std::string origin_cause(const LayerRow& row, const ComparedRun& run) {
  if (const std::string other = other_attribute(row, run); !other.empty())
    return "attribute_mismatch: " + other;
  const LayerEvidence& evidence = row.evidence;
  std::string cause(cause_name(row.cause));
  if (evidence.fact == LayerEvidence::Fact::other_attribute)
    cause += fmt::format(": {} is {}, the reference's {}", evidence.name,
                         fmt::join(evidence.candidate, " "), fmt::join(evidence.reference, " "));
  return cause;
}

// Adds where the candidate in float32 leaves the reference.
void find_origin(StructureEvidence& structure, const Model& candidate, const ComparedRun& run) {
  const std::filesystem::path& reference = run.models.reference->path();
  if (reference.empty()) return;
  try {
    WidenedSamples samples(first_samples(run.samples, 1));
    const LayersResult layers =
        validate_layers(candidate.clone(), samples,
                        {.reference = reference,
                         .weight_evidence = false,
                         .judge_outputs = false,  // which is what asked for this
                         .io = run.options.compare.io,
                         .runtime = {.threads = run.options.candidate_runtime.threads}});
    if (!layers.drift_origin) return;
    const LayerRow& row = layers.rows[*layers.drift_origin];
    structure.origin = row.layer;
    structure.origin_cause = origin_cause(row, run);
  } catch (const Error&) {
    // What cannot be run side by side has no place.
  }
}

// The most that an output gains, at least 0, of the mean SQNR over its samples.
double mean_gain_db(const std::vector<PairResult>& from, const std::vector<PairResult>& to) {
  double gain = 0;
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i)
    gain =
        std::max(gain, to[i].similarity.statistics[0].mean - from[i].similarity.statistics[0].mean);
  return gain;
}

// How much better the outputs of such a candidate are, in exact arithmetic: the most of any.
double gain_of(const Model& better, const CompareResult& result, const ComparedRun& run) {
  OrtRunner runner = exact_runner(better, run.options.candidate_runtime);
  const CompareResult compared =
      compare(run.reference, runner, run.samples, options_like(run.options.compare));
  return std::max(mean_gain_db(result.exact_outputs, compared.outputs),
                  mean_gain_db(result.before_activation, compared.before_activation));
}

// Biases that are not the reference's fail a candidate that would be better with those.
void judge_biases(CompareResult& result, const ComparedRun& run) {
  const auto& weights = result.evidence.weights;
  const auto& structure = result.evidence.structure;
  const bool explained = (weights && weights->answer == WeightEvidence::Answer::different) ||
                         (structure && is_other_network(*structure));
  if (explained || !run.models.reference || !weights || result.exact_outputs.empty()) return;
  const auto others = find_other_biases(*run.models.reference, run.models.candidate, *weights);
  if (others.empty()) return;
  const Model repaired = with_reference_biases(run.extended, others);
  if (!(gain_of(repaired, result, run) > costly_db)) return;
  for (const OtherBias& bias : others)
    result.verdict.failures.push_back(
        {.subject = bias.candidate,
         .group = "weight",
         .metric = "weight_sqnr_db",
         .value = bias.sqnr_db,
         .limit = Limit{
             .metric = "weight_sqnr_db", .fails = Limit::Fails::below, .value = unlike_bias_db}});
  result.verdict.outcome = Outcome::fail;
}

// A range of activations that costs; nothing where no output holds float numbers other than 0.
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

// A range that is too narrow though limits are kept and the fit does not show it.
std::optional<NarrowRange> find_narrow_range(const CompareResult& result,
                                             std::optional<SwitchedModel> model,
                                             const ComparedRun& run) {
  if (!result.verdict.pass() || !result.evidence.calibration) return std::nullopt;
  if (model)
    if (auto costly = costly_range(*std::move(model), result.evidence.real_inputs, run))
      return costly;
  if (result.evidence.real_inputs || !run.models.reference) return std::nullopt;
  return find_narrow_input(*run.models.reference, run.models.candidate, run.samples,
                           run.options.candidate_runtime);
}

// Doubts a pass on made-up inputs that others would not be given. Samples that are picked are as
// loud as the calibration data ever were, and an output's SQNR is better on them than on ordinary
// ones. So the others have to keep the limits too: on the mean, for some of them are hardly like
// anything real.
void ask_others(CompareResult& result, const ComparedRun& run) {
  const Evidence& evidence = result.evidence;
  Samples* others = run.samples.others();
  if (!result.verdict.pass() || !others || evidence.real_inputs || evidence.own_limits) return;
  CompareOptions again = options_like(run.options.compare);
  std::ranges::copy_if(result.verdict.limits, std::back_inserter(again.limits),
                       [](const Limit& limit) { return limit.metric.ends_with("_mean"); });
  OrtRunner candidate = exact_runner(run.extended, run.options.candidate_runtime);
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

void judge_anew(CompareResult& result) {
  result.verdict = make_verdict(result.verdict.limits, result.verdict.failures, result.evidence);
}

// Why the candidate loses as it runs here: on the first samples, of the output that loses most.
// Nothing where it loses little, or cannot be run otherwise.
std::optional<ArithmeticLoss> explained_loss(const CompareResult& result, const ComparedRun& run) {
  const OrtOptions& runtime = run.options.candidate_runtime;
  if (!(result.runtime_loss_db.value_or(0) > noticeable_loss_db) || !is_cpu(runtime.provider))
    return std::nullopt;
  CompareOptions again = options_like(run.options.compare);
  again.before.clear();  // a further output may keep the optimiser from a fusion
  const auto few = first_samples(run.samples, structure_samples * again.io.steps);
  const auto outputs_of = [&](Runner& runner) {
    return compare(run.reference, runner, *few, again).outputs;
  };
  const Model& candidate = run.models.candidate;
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
    if (!worst || !(worst->db() > noticeable_loss_db)) return std::nullopt;
    explain_loss(*worst, {candidate, run.models.reference, runtime}, few->sample(0),
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

// Whether the candidate computes what the reference does, but for its precision.
void judge_structure(CompareResult& result, const FloatForm& form, const ComparedRun& run) {
  const auto is_nonfinite = [](const Failure& failure) {
    return failure.kind == FailureKind::nonfinite;
  };
  if (std::ranges::any_of(result.verdict.failures, is_nonfinite)) return;  // no figures
  result.evidence.structure = measure_structure(form, run);
  if (!result.evidence.structure) return;
  judge_anew(result);
  StructureEvidence& structure = *result.evidence.structure;
  if (is_other_network(structure)) find_origin(structure, form.model, run);
  if (!structure.origin.empty()) result.warnings.push_back(origin_warning(structure));
}

}  // namespace

std::string origin_warning(const StructureEvidence& structure) {
  if (structure.origin.empty()) return "";
  return fmt::format("in float32 the candidate leaves the reference at {} ({})", structure.origin,
                     structure.origin_cause);
}

void judge_by_further_runs(CompareResult& result, const ComparedRun& run) {
  if (result.interrupted) return;
  std::optional<SwitchedModel> model = run.is_whole ? switched(result, run) : std::nullopt;
  if (model && run.models.reference)
    judge_structure(result, float_form(*model, run), run);
  else if (const auto form = run.is_whole ? widened(result, run) : std::nullopt)
    judge_structure(result, *form, run);
  result.evidence.narrow = find_narrow_range(result, std::move(model), run);
  if (result.evidence.narrow) judge_anew(result);
  if (run.is_whole) judge_biases(result, run);
  if (run.is_whole) result.arithmetic = explained_loss(result, run);
  ask_others(result, run);
}

}  // namespace vernier
