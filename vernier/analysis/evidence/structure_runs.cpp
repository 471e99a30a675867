#include "vernier/analysis/evidence/structure_runs.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "vernier/analysis/evidence/float_form.h"
#include "vernier/analysis/layers/attributes.h"
#include "vernier/analysis/layers/layers.h"
#include "vernier/error.h"
#include "vernier/model/precision.h"
#include "vernier/model/tensor_data.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

WeightEvidence weights_in(const CompareResult& result) {
  return result.evidence.weights.value_or(WeightEvidence());
}

// Samples of a candidate for its float form, which may take inputs of half precision in float32.
class WidenedSamples : public Samples {
 public:
  WidenedSamples(std::unique_ptr<Samples> all, const Model& form) : all_(std::move(all)) {
    for (const TensorSpec& input : form.inputs())
      if (input.dtype == DType::f32) widened_.insert(input.name);
  }
  std::int64_t size() const override { return all_->size(); }
  std::int64_t number(std::int64_t index) const override { return all_->number(index); }
  std::vector<Tensor> sample(std::int64_t index) override {
    std::vector<Tensor> tensors = all_->sample(index);
    for (Tensor& tensor : tensors)
      if ((tensor.dtype == DType::f16 || tensor.dtype == DType::bf16) &&
          widened_.contains(tensor.name))
        tensor = convert(tensor, DType::f32);
    return tensors;
  }

 private:
  std::unique_ptr<Samples> all_;
  std::set<std::string> widened_;
};

// The input of a final Softmax up to a constant, from its output: logarithms minus their mean.
Tensor centred_logits(const TensorView& output, const FinalActivation& activation) {
  constexpr double least = 1e-30;  // below, a probability has lost its digits
  Tensor logits = convert(output, DType::f32);
  const auto rank = std::ssize(logits.shape);
  const std::int64_t axis = activation.axis < 0 ? activation.axis + rank : activation.axis;
  if (axis < 0 || axis >= rank || logits.size() == 0) return logits;
  std::int64_t inner = 1;
  for (std::int64_t i = axis + 1; i < rank; ++i) inner *= logits.shape[i];
  const std::int64_t length = logits.shape[axis];
  const std::span<float> values = elements<float>(logits);
  for (std::int64_t first = 0; first < logits.size(); ++first) {
    if (first / inner % length != 0) continue;
    double sum = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      float& value = values[first + i * inner];
      if (activation.op == "Softmax")
        value = static_cast<float>(std::log(value < least ? least : double{value}));
      sum += value;
    }
    for (std::int64_t i = 0; i < length; ++i)
      values[first + i * inner] =
          static_cast<float>(values[first + i * inner] - sum / static_cast<double>(length));
  }
  return logits;
}

// Compares the outputs. With a live reference, outputs behind a final Softmax are compared as
// logits; a reference model already has the Softmax's input as an output.
CompareResult compare_outputs(Runner& candidate, const ComparedRun& run, Samples& samples,
                              CompareOptions options) {
  if (!run.models.reference)
    options.transform = [activations = find_final_activations(run.extended)](
                            const std::string& output, Tensor value) {
      const auto found = std::ranges::find(activations, output, &FinalActivation::output);
      const bool is_softmax = found != activations.end() && found->op.ends_with("Softmax");
      if (is_softmax && is_float(value.dtype)) return centred_logits(value, *found);
      return value;
    };
  return compare(run.reference, candidate, samples, options);
}

// Samples that agree, as those without padding do where a mask was lost, do not make up for others.
StructureEvidence measured_on(const PairResult& output) {
  constexpr double uneven_db = 6;
  const double mean = output.similarity.statistics[0].mean;
  return {.output = output.name,
          .sqnr_db = output.pooled_sqnr_db < mean - uneven_db ? output.pooled_sqnr_db : mean,
          .on_few = !(output.median_sqnr_db < same_structure_db)};
}

// What a broken limit was measured on: the pair before a final activation, an output or a part.
StructureEvidence measured_on(const Failure& failure, const CompareResult& compared) {
  if (failure.metric == "sqnr_db_mean") {
    for (const PairResult& pair : compared.before_activation)
      if (pair.name == failure.subject && pair.status == PairStatus::compared)
        return measured_on(pair);
    for (const PairResult& pair : compared.outputs)
      if (pair.name == failure.subject) return measured_on(pair);
  }
  return {.output = failure.subject, .sqnr_db = failure.value};
}

// Keeps the output that agrees least.
void take_worst(StructureEvidence& structure, const StructureEvidence& output) {
  if (!(output.sqnr_db < structure.sqnr_db)) return;
  structure.output = output.output;
  structure.sqnr_db = output.sqnr_db;
  structure.on_few = output.on_few;
}

// Whether the candidate in float32 alone is not finite in the output. A quantizer that it has
// switched off turns NaN into a number.
bool is_nonfinite_alone(const Failure& failure, const std::vector<Failure>& failures) {
  return failure.kind == FailureKind::nonfinite && failure.metric.starts_with("candidate_") &&
         std::ranges::none_of(failures, [&](const Failure& other) {
           return other.subject == failure.subject && other.kind == FailureKind::nonfinite &&
                  other.metric.starts_with("reference_");
         });
}

// Whether an output of a final Softmax or Sigmoid, at most 1, is the same within rounding. Where
// the activation saturates, rounding is as large as the output, and only its input tells.
bool is_rounded_activation(const PairResult& output) {
  constexpr double rounding = 1e-5;
  return output.similarity.statistics[*find_metric("max_abs_diff")].max <= rounding;
}

// Outputs of a final Softmax or Sigmoid that are the same within rounding. Empty with a reference
// model: there the activation's input is compared.
std::set<std::string> saturated_outputs(const CompareResult& compared, const ComparedRun& run) {
  std::set<std::string> saturated;
  if (run.models.reference) return saturated;
  for (const FinalActivation& activation : find_final_activations(run.extended))
    for (const PairResult& output : compared.outputs)
      if (output.name == activation.output && is_rounded_activation(output))
        saturated.insert(output.name);
  return saturated;
}

// Compares the candidate in float32 with the reference, on a few samples. nullopt, with a warning
// in `warnings` unless that is null, if it cannot be run.
std::optional<StructureEvidence> measure_structure(const FloatForm& form, const ComparedRun& run,
                                                   std::vector<Warning>* warnings = nullptr) {
  StructureEvidence structure{
      .sqnr_db = INFINITY, .unswitched = std::ssize(form.rounded), .only_fine = form.only_fine};
  if (!form.rounded.empty()) structure.first_unswitched = form.rounded[0];
  structure.in_half = std::ranges::any_of(form.model.inputs(), [](const TensorSpec& input) {
    return input.dtype == DType::f16 || input.dtype == DType::bf16;
  });
  // Unoptimised: one of ONNX Runtime's fusions does not find scales outside of a subgraph.
  OrtOptions runtime = run.options.candidate_runtime;
  runtime.optimization = Optimization::disabled;
  CompareOptions again = options_like(run.options.compare);
  again.limits = {{.metric = "sqnr_db_mean", .fails = Limit::Fails::below, .value = INFINITY}};
  try {
    OrtRunner runner(form.model.clone(), runtime);
    WidenedSamples samples(spread_samples(run.samples, few_samples, again.io.steps), form.model);
    const CompareResult compared = compare_outputs(runner, run, samples, again);
    const std::set<std::string> saturated = saturated_outputs(compared, run);
    for (const Failure& failure : compared.verdict.failures)
      if (failure.metric == default_ids_limit(Precision::fp32).metric)
        structure.other_ids = failure.subject, structure.equal_ids = failure.value;
      else if (is_nonfinite_alone(failure, compared.verdict.failures))
        take_worst(structure, {.output = failure.subject, .sqnr_db = -INFINITY});
      else if (failure.kind == FailureKind::broken && !saturated.contains(failure.subject))
        take_worst(structure, measured_on(failure, compared));
    for (const PairResult& output : compared.outputs)
      if (std::ranges::count(compared.before_activation, output.name, &PairResult::name) > 0 &&
          !is_rounded_activation(output))
        take_worst(structure, measured_on(output));
  } catch (const Stopped&) {
    throw;
  } catch (const Error& error) {
    if (warnings) warnings->push_back({WarningKind::unmeasured_form, error.what()});
    return std::nullopt;
  }
  return structure;
}

LayerEvidence differing(std::string name, std::string found, std::string expected) {
  return {.fact = LayerEvidence::Fact::other_attribute,
          .name = std::move(name),
          .reference = {std::move(expected)},
          .candidate = {std::move(found)}};
}

// An attribute that both nodes set to different values; nothing if there is none.
LayerEvidence other_attribute(const NodeProto& reference, const NodeProto& candidate) {
  for (const auto& expected : reference.attribute())
    for (const auto& found : candidate.attribute())
      if (found.name() == expected.name() && attribute_text(found) != attribute_text(expected))
        return differing(found.name(), attribute_text(found), attribute_text(expected));
  return {};
}

// A constant, also one behind a DequantizeLinear.
std::optional<Tensor> constant_of(const GraphIndex& graph, const std::string& tensor) {
  if (auto value = graph.value(tensor)) return value;
  const auto* node = tensor.empty() ? nullptr : graph.producer(tensor);
  if (!node || !is_op(*node, "DequantizeLinear")) return std::nullopt;
  const auto stored = graph.value(node->input(0)), scale = graph.value(node->input(1));
  if (!stored || !scale || scale->size() != 1) return std::nullopt;
  return dequantize(
      *stored,
      {.dtype = stored->dtype, .scale = *scale, .zero_point = graph.value(input_name(*node, 2))});
}

// A scalar constant that differs between the two nodes; nothing if there is none.
LayerEvidence other_number(const GraphIndex& reference, const NodeProto& expected,
                           const GraphIndex& candidate, const NodeProto& found) {
  constexpr double alike = 0.02;  // relative; 8-bit rounding may change it by this much
  if (expected.op_type() != found.op_type()) return {};
  for (int i = 0; i < std::min(expected.input_size(), found.input_size()); ++i) {
    const auto wanted = constant_of(reference, expected.input(i));
    const auto read = constant_of(candidate, found.input(i));
    if (!wanted || !read || wanted->size() != 1 || read->size() != 1) continue;
    const double from = to_f64(*wanted)[0], to = to_f64(*read)[0];
    if (std::abs(from - to) > alike * std::abs(from))
      return differing(expected.input(i), fmt::format("{:.4g}", to), fmt::format("{:.4g}", from));
  }
  return {};
}

// Compares the node that writes the layer in the reference with the candidate's node of its name.
LayerEvidence other_attribute(const LayerRow& row, const ComparedRun& run) {
  const GraphIndex& reference = run.read.model->main();
  const auto* expected = reference.producer(row.layer);
  if (!expected || expected->name().empty()) return {};
  const auto* found = run.models.candidate.node(expected->name());
  if (!found)
    found = run.models.candidate.node(expected->name() + "_quant");  // ONNX Runtime's suffix
  if (!found) return {};
  const LayerEvidence other = other_attribute(*expected, *found->node);
  return other ? other : other_number(reference, *expected, *found->graph, *found->node);
}

// Finds the first layer where the candidate in float32 differs from the reference.
void find_origin(StructureEvidence& structure, const Model& candidate, const ComparedRun& run) {
  if (!run.models.reference) return;
  try {
    WidenedSamples samples(spread_samples(run.samples, few_samples, run.options.compare.io.steps),
                           candidate);
    const LayersResult layers =
        validate_layers(ModelIndex(candidate), samples,
                        {.reference_model = run.models.reference,
                         .weight_evidence = false,
                         .judge_outputs = false,  // the outputs are what asked for this
                         .io = run.options.compare.io,
                         .runtime = {.threads = run.options.candidate_runtime.threads}});
    if (!layers.drift_origin) return;
    const LayerRow& row = layers.rows[*layers.drift_origin];
    structure.origin = row.layer;
    structure.why = other_attribute(row, run);
    structure.cause = structure.why ? Cause::attribute_mismatch : row.cause;
    if (!structure.why) structure.why = row.evidence;
  } catch (const Stopped&) {
    throw;
  } catch (const Error&) {
    // Models that cannot be run side by side have no origin.
  }
}

// Whether the candidate in float32 equals the reference once the Relus and Clips that its
// quantizers stand for are put back. If so, the quantizer that lets more through is the origin.
bool is_lost_bound(CompareResult& result, const ComparedRun& run) {
  if (!result.evidence.quantized || !run.models.reference) return false;
  const auto lost = find_lost_bound(*run.read.model, run.extended);
  const auto model = lost ? switched(result, run, FoldedBounds::all) : std::nullopt;
  const auto restored =
      model ? measure_structure(float_form(*model, weights_in(result), run), run) : std::nullopt;
  if (!restored || !(restored->sqnr_db >= same_structure_db)) return false;
  StructureEvidence& structure = *result.evidence.structure;
  const bool is_low = lost->range.low < lost->folded.low - lost->range.step;
  structure.lost_bound = LostEnd{.is_low = is_low,
                                 .end = is_low ? lost->range.low : lost->range.high,
                                 .bound = is_low ? lost->folded.low : lost->folded.high};
  structure.origin = lost->tensor;
  return true;
}

// With a runner it is unknown which quantizers stand for a Clip. If the candidate equals the
// reference with the ends of the ranges as bounds, they do.
void put_back_bounds(CompareResult& result, const ComparedRun& run) {
  StructureEvidence& structure = *result.evidence.structure;
  if (!result.evidence.quantized || run.models.reference || structure.sqnr_db >= same_structure_db)
    return;
  const auto model = switched(result, run, FoldedBounds::all);
  const auto bounded =
      model ? measure_structure(float_form(*model, weights_in(result), run), run) : std::nullopt;
  if (bounded && bounded->sqnr_db >= same_structure_db) structure = *bounded;
}

// Whether more rounding of the constants that stay rounded makes the difference larger, as far as
// it would if they made most of it: ten times the noise is 10 dB.
bool is_explained(const StructureEvidence& structure, const FloatForm& form,
                  const ComparedRun& run) {
  constexpr double least_loss_db = 6;
  if (structure.unswitched == 0 || !(structure.sqnr_db < same_structure_db)) return false;
  std::optional<Model> moved = rounded_more(form, run.extended);
  if (!moved) return false;
  const auto again = measure_structure({*std::move(moved), form.rounded, form.only_fine}, run);
  return again && again->sqnr_db <= structure.sqnr_db - least_loss_db;
}

// Whether the candidate in float32 computes the same function as the reference.
void judge_form(CompareResult& result, const FloatForm& form, const ComparedRun& run) {
  const auto is_nonfinite = [](const Failure& failure) {
    return failure.kind == FailureKind::nonfinite;
  };
  if (std::ranges::any_of(result.verdict.failures, is_nonfinite)) return;  // SQNR is NaN
  result.evidence.structure = measure_structure(form, run, &result.warnings);
  if (!result.evidence.structure) return;
  put_back_bounds(result, run);
  if (result.evidence.quantized)
    result.evidence.structure->explained = is_explained(*result.evidence.structure, form, run);
  judge_anew(result);
  StructureEvidence& structure = *result.evidence.structure;
  if (is_other_network(structure) && !is_lost_bound(result, run))
    find_origin(structure, form.model, run);
  if (result.evidence.quantized && result.verdict.outcome == Outcome::fail &&
      is_unproven(structure) && !structure.output.empty())
    result.warnings.push_back({.kind = WarningKind::unproven_form,
                               .subject = structure.output,
                               .other = structure.first_unswitched,
                               .value = structure.sqnr_db,
                               .limit = static_cast<double>(structure.unswitched)});
}

}  // namespace

CompareOptions options_like(const CompareOptions& first) {
  return {.allow_missing = true,
          .before = first.before,
          .shares = first.shares,
          .ids = first.ids,
          .parts = first.parts,
          .outputs_by_position = first.outputs_by_position,
          .io = first.io};
}

void judge_anew(CompareResult& result) {
  result.verdict = make_verdict(result.verdict.limits, result.verdict.failures, result.evidence);
}

std::optional<SwitchedModel> switched(const CompareResult& result, const ComparedRun& run,
                                      FoldedBounds bounds) {
  const WeightEvidence weights = weights_in(result);
  const ModelIndex* reference = run.models.reference;
  if (!result.evidence.quantized || weights.answer == WeightEvidence::Answer::different ||
      (reference && precision_of(reference->model()) == Precision::int8))
    return std::nullopt;
  return switch_quantizers(run.read, run.extended, weights, bounds);
}

void judge_structure(CompareResult& result, const std::optional<SwitchedModel>& model,
                     const ComparedRun& run) {
  // Recorded outputs show neither weights nor a graph.
  if (!run.models.reference && !result.evidence.weights) return;
  if (model)
    judge_form(result, float_form(*model, weights_in(result), run), run);
  else if (const auto form = widened_form(result, run))
    judge_form(result, *form, run);
}

}  // namespace vernier
