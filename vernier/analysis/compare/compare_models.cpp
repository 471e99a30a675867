#include "vernier/analysis/compare/compare_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>

#include "vernier/analysis/decoding/cache_faults.h"
#include "vernier/analysis/decoding/decoder_samples.h"
#include "vernier/analysis/decoding/fed_decoder.h"
#include "vernier/analysis/evidence/further_runs.h"
#include "vernier/analysis/evidence/leaf_evidence.h"
#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/analysis/inputs/pick_inputs.h"
#include "vernier/error.h"
#include "vernier/model/precision.h"
#include "vernier/model/quantization.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/reopening_runner.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/convert.h"
#include "vernier/utf8.h"

namespace vernier {
namespace {

// The candidate's name for an output of the reference.
const std::string& counterpart(const IoMapping& io, const std::string& output) {
  const auto mapped = io.outputs.find(output);
  return mapped == io.outputs.end() ? output : mapped->second;
}

// A final activation of the same operator in both models.
struct CommonActivation {
  FinalActivation reference, candidate;
  bool has_inputs() const { return !reference.before.empty() && !candidate.before.empty(); }
};

std::vector<CommonActivation> common_activations(const ModelIndex& reference,
                                                 const ModelIndex& candidate, const IoMapping& io) {
  std::vector<CommonActivation> common;
  const std::vector<FinalActivation> found = find_final_activations(candidate);
  for (const FinalActivation& expected : find_final_activations(reference))
    for (const FinalActivation& activation : found)
      if (activation.output == counterpart(io, expected.output) && activation.op == expected.op)
        common.push_back({expected, activation});
  return common;
}

// Those that both models have along the same axis, by the candidate's output.
std::vector<BeforeActivation> before_activations(std::span<const CommonActivation> common) {
  std::vector<BeforeActivation> pairs;
  for (const CommonActivation& each : common)
    if (each.has_inputs() && each.reference.axis == each.candidate.axis)
      pairs.push_back({each.candidate.output, each.reference.before, each.candidate.before,
                       each.reference.is_tensor});
  return pairs;
}

// The outputs of those whose inputs are inside an If.
std::vector<std::string> shares_of(std::span<const CommonActivation> common) {
  std::vector<std::string> outputs;
  for (const CommonActivation& each : common)
    if (!each.has_inputs()) outputs.push_back(each.candidate.output);
  return outputs;
}

std::vector<std::string> names_of(const std::vector<BeforeActivation>& pairs,
                                  std::string BeforeActivation::*side) {
  std::vector<std::string> names;
  for (const BeforeActivation& pair : pairs) names.push_back(pair.*side);
  return names;
}

// The shapes of a model's tensors on these inputs; empty if the model cannot be run on them.
TensorShapes shapes_on(const Model& model, const std::vector<Tensor>& inputs, OrtOptions runtime) {
  return [&model, inputs, runtime](const std::vector<std::string>& tensors) mutable {
    std::map<std::string, Shape> shapes;
    runtime.watch = Watch::only(tensors);
    runtime.optimization = std::nullopt;
    try {
      OrtRunner runner(model.clone(), runtime);
      runner.run(inputs, [&](const TensorView& tensor) {
        shapes.try_emplace(std::string(tensor.name), tensor.shape.begin(), tensor.shape.end());
      });
    } catch (const Stopped&) {
      throw;
    } catch (const Error&) {
      shapes.clear();
    }
    return shapes;
  };
}

// The parts of the reference's outputs; those of the candidate's outputs if the reference has none,
// takes other inputs or is not an ONNX model.
std::vector<OutputPart> parts_of_outputs(const ComparedModels& models, Samples& samples,
                                         const CompareModelsOptions& options) {
  if (samples.size() == 0) return {};
  const std::vector<Tensor> sample = samples.sample(0);
  std::vector<OutputPart> parts;
  const ModelIndex* reference = models.reference;
  const Model& candidate = models.candidate.model();
  // A decoder with other inputs is fed by its roles; the candidate's graph is used then.
  if (reference && reference->model().inputs() == candidate.inputs()) {
    const std::vector<TensorSpec> inputs = candidate.inputs();
    const auto bindings = bind_inputs(inputs, inputs, options.compare.io);
    parts = find_output_parts(
        *reference, shapes_on(reference->model(), apply_bindings(bindings, inputs, sample),
                              options.reference_runtime));
  }
  if (!parts.empty()) return parts;
  parts =
      find_output_parts(models.candidate, shapes_on(candidate, sample, options.candidate_runtime));
  for (OutputPart& part : parts) part.of_reference = false;
  return parts;
}

bool same_files(const Model& reference, const Model& candidate) {
  if (reference.path().empty() || candidate.path().empty()) return false;
  std::error_code error;
  if (std::filesystem::file_size(reference.path(), error) !=
      std::filesystem::file_size(candidate.path(), error))
    return false;
  std::ifstream first(reference.path(), std::ios::binary),
      second(candidate.path(), std::ios::binary);
  return std::equal(std::istreambuf_iterator<char>(first), {},
                    std::istreambuf_iterator<char>(second));
}

// Without its folder, so that reports do not depend on where they are made.
std::string file_name(const Model& model) {
  return model.path().empty() ? model.name() : model.path().filename().string();
}

bool says_int8(const std::string& name) {
  const std::string lower = lower_case(name);
  return lower.find("int8") != std::string::npos || lower.find("quant") != std::string::npos;
}

// Warnings about the pair of files that do not depend on any figure.
std::vector<Warning> warnings_about(const ComparedModels& models) {
  std::vector<Warning> warnings;
  const Model& candidate = models.candidate.model();
  const Precision precision = precision_of(candidate);
  if (precision != Precision::int8 && says_int8(file_name(candidate)))
    warnings.push_back({WarningKind::not_quantized, file_name(candidate)});
  if (!models.reference) return warnings;
  const Model& reference = models.reference->model();
  if (precision != Precision::int8 && precision_of(reference) == Precision::int8)
    warnings.push_back({WarningKind::quantized_reference, file_name(reference)});
  if (same_files(reference, candidate)) warnings.push_back({WarningKind::same_files});
  return warnings;
}

// Outputs of the reference that are not tensors and that the candidate lacks.
std::vector<Failure> missing_values(const Model& reference, const Model& candidate,
                                    const IoMapping& io) {
  const std::vector<TensorSpec> tensors = candidate.outputs();
  const std::vector<OtherValue> others = candidate.other_outputs();
  std::vector<Failure> failures;
  for (const OtherValue& value : reference.other_outputs()) {
    const auto is_it = [&](const auto& output) {
      return output.name == counterpart(io, value.name);
    };
    if (std::ranges::none_of(tensors, is_it) && std::ranges::none_of(others, is_it))
      failures.push_back(missing_failure(value.name, "output", "candidate"));
  }
  return failures;
}

// Scales of quantizers that are not finite: kernels make numbers of what they scale, so outputs
// need not show it.
std::vector<Failure> nonfinite_scales(const ModelIndex& candidate) {
  std::set<std::string> seen;
  std::vector<Failure> failures;
  const auto add = [&](const Tensor& scale) {
    if (scale.name.empty() || !seen.insert(scale.name).second) return;
    NonfiniteCounts counts;
    for (const double value : to_f64(scale)) {
      counts.candidate_nan += std::isnan(value) ? 1 : 0;
      counts.candidate_inf += std::isinf(value) ? 1 : 0;
    }
    std::ranges::move(nonfinite_failures(scale.name, "scale", counts),
                      std::back_inserter(failures));
  };
  const Quantization found = find_quantization(candidate);
  for (const QuantizedActivation& activation : found.activations)
    if (!activation.dynamic) add(activation.quantizer.scale);
  for (const QuantizedWeight& weight : found.weights) add(weight.quantizer.scale);
  return failures;
}

// Whether only figures of outputs fail the same network, on inputs that it was calibrated for.
bool is_costly_quantization(const CompareResult& result) {
  const auto& weights = result.evidence.weights;
  const auto& structure = result.evidence.structure;
  return result.verdict.outcome == Outcome::fail && result.evidence.quantized && weights &&
         weights->answer == WeightEvidence::Answer::same && result.verdict.doubts.empty() &&
         !(structure && differs_in_structure(*structure)) &&
         std::ranges::all_of(result.verdict.failures, [](const Failure& failure) {
           return failure.kind == FailureKind::broken && failure.group != "weight" &&
                  failure.metric != "unquantized_sqnr_db";
         });
}

// Of an input that is beyond its calibration range.
std::vector<Warning> warnings_about(const Evidence& evidence) {
  constexpr double notable = 1.5;  // correct pairs exceed the range by a little on real data
  const auto& fit = evidence.calibration;
  if (!fit || !(fit->input_overflow > notable)) return {};
  return {{.kind = WarningKind::input_overflow,
           .subject = fit->overflowed_input,
           .value = fit->input_overflow}};
}

// Two decoders whose caches are fed back, and their first prompt.
struct ComparedDecoders {
  Decoder reference, candidate;
  std::vector<std::int64_t> prompt;
};

std::optional<ComparedDecoders> compared_decoders(const ComparedModels& models, Samples& samples,
                                                  const IoMapping& io) {
  if (!models.reference || io.feedback.empty() || samples.size() == 0) return std::nullopt;
  auto reference = find_decoder(models.reference->model());
  auto candidate = find_decoder(models.candidate.model(), io.roles);
  if (!reference || !candidate || candidate->caches.empty() ||
      reference->caches.size() != candidate->caches.size())
    return std::nullopt;
  ComparedDecoders decoders{std::move(*reference), std::move(*candidate), {}};
  const std::vector<Tensor> first = samples.sample(0);
  const auto tokens = std::ranges::find(first, decoders.candidate.tokens, &Tensor::name);
  if (tokens == first.end()) return std::nullopt;
  const Tensor ids = convert(*tokens, DType::i64);
  const auto row = elements<std::int64_t>(ids);
  decoders.prompt.assign(row.begin(), row.end());
  return decoders;
}

std::function<std::unique_ptr<Runner>()> watcher(const Model& model, OrtOptions runtime) {
  runtime.watch = Watch::all();
  runtime.optimization = std::nullopt;
  return [&model, runtime] { return std::make_unique<OrtRunner>(model.clone(), runtime); };
}

}  // namespace

Inputs compare_inputs(const ComparedModels& models, const InputSpec& spec,
                      const CompareModelsOptions& options) {
  const Model& model = models.candidate.model();
  const Model* teacher = models.reference ? &models.reference->model() : nullptr;
  const std::vector<TensorSpec> candidate = model.inputs();
  // A live reference that is not open yet takes what the candidate takes.
  const std::vector<TensorSpec> reference = teacher ? teacher->inputs()
                                            : models.reference_runner
                                                ? models.reference_runner->inputs()
                                                : candidate;
  const InputTarget target{.inputs = candidate,
                           .path = model.path(),
                           .onnx = &model,
                           .io = options.compare.io,
                           .reference = reference,
                           .teacher = teacher};
  const bool recorded = !teacher && reference.empty();
  return is_automatic(spec) && !recorded
             ? automatic_inputs(target, models.candidate, models.reference, spec,
                                options.candidate_runtime)
             : make_inputs(target, spec);
}

ComparedModels OpenedModels::compared() const {
  return {.reference = reference.get(),
          .reference_runner = reference_runner.get(),
          .candidate = *candidate};
}

namespace {

// Adds what the two graphs and their weights show without a run.
void add_static_evidence(Evidence& evidence, const FloatReference& reference,
                         const ModelIndex& candidate, bool weights) {
  const Precision precision = precision_of(candidate.model());
  evidence.quantized = precision == Precision::int8;
  evidence.half = precision == Precision::fp16;
  if (evidence.quantized) evidence.bias = find_mismatched_bias(candidate);
  if (weights)
    evidence.weights = reference.model ? compare_weights_of(*reference.model, candidate)
                                       : compare_weights_of(*reference.runner, candidate);
  if (evidence.quantized && reference.model)
    evidence.missing = find_missing_activations(*reference.model, candidate);
  if (!evidence.quantized && !evidence.real_inputs)
    evidence.other_node = reference.model ? find_other_node(*reference.model, candidate)
                                          : find_other_leaf(reference.runner->watched(), candidate);
}

}  // namespace

OpenedModels open_models(std::shared_ptr<const ModelIndex> candidate,
                         const std::filesystem::path& reference, const InputSpec& spec,
                         CompareModelsOptions& options, RunnerOptions reference_options,
                         std::shared_ptr<const ModelIndex> reference_model) {
  CompareOptions& compared = options.compare;
  const Model& model = candidate->model();
  complete_options(compared, precision_of(model), has_real_inputs(spec));
  OpenedModels opened{.candidate = std::move(candidate), .reference = std::move(reference_model)};
  const ModelFormat format = model_format(reference);
  if (format == ModelFormat::onnx && !opened.reference)
    opened.reference = std::make_unique<const ModelIndex>(Model::load(reference));
  // Leaves are watched only to know which norm is behind which weight.
  reference_options.torch.watch_leaves = true;
  reference_options.host.watch = HostWatch::layers;
  if (format == ModelFormat::torchscript || format == ModelFormat::recorded)
    opened.reference_runner = open_runner(reference, reference_options);
  follow_decoder(model, opened.reference ? &opened.reference->model() : nullptr, spec, compared.io);
  opened.inputs = compare_inputs(opened.compared(), spec, options);
  if (format == ModelFormat::recorded && opened.inputs.order)
    require_recorded_order(*opened.inputs.order, reference);
  if (format == ModelFormat::hosted) {
    Samples& samples = *opened.inputs.samples;
    if (samples.size() > 0)
      reference_options.host =
          described_by(std::move(reference_options.host), samples.sample(0), model.outputs());
    opened.reference_runner = open_runner(reference, reference_options);
    pair_cache_outputs(model, opened.reference_runner->outputs(), compared.io);
  }
  compared.outputs_by_position =
      opened.reference_runner && opened.reference_runner->outputs_are_positional();
  return opened;
}

CompareResult compare_models(const ComparedModels& models, Samples& samples,
                             CompareModelsOptions options) {
  CompareOptions& compare_options = options.compare;
  Evidence& evidence = compare_options.evidence;
  const Model& candidate_model = models.candidate.model();
  const Model* reference_model = models.reference ? &models.reference->model() : nullptr;
  const FloatReference read{.model = models.reference,
                            .runner = models.reference ? nullptr : models.reference_runner};
  add_static_evidence(evidence, read, models.candidate, options.weights);
  if (models.reference) {
    const std::vector<CommonActivation> common =
        common_activations(*models.reference, models.candidate, compare_options.io);
    compare_options.before = before_activations(common);
    compare_options.shares = shares_of(common);
  }
  compare_options.ids = find_class_ids(models.candidate);
  compare_options.parts = parts_of_outputs(models, samples, options);
  // The candidate with the inputs of final activations as outputs.
  std::optional<ModelIndex> made;
  if (!compare_options.before.empty())
    made.emplace(with_outputs(candidate_model,
                              names_of(compare_options.before, &BeforeActivation::candidate)));
  const ModelIndex& extended = made ? *made : models.candidate;
  std::optional<CalibrationProbe> exact;
  if (evidence.quantized) {
    exact.emplace(extended, read.model, options.candidate_runtime);
    compare_options.exact = &*exact;
  }
  const bool judged = !compare_options.records || !compare_options.records->is_part();
  if (judged && exact && exact->quantizers() == 0 && reference_model && !evidence.real_inputs &&
      reference_model->inputs() == candidate_model.inputs())
    evidence.norms = measure_norm_fit(*models.reference, samples, options.reference_runtime);
  std::optional<OrtRunner> candidate;
  candidate.emplace((evidence.quantized ? candidate_model : extended.model()).clone(),
                    options.candidate_runtime);
  std::optional<ReopeningRunner> reference;
  if (reference_model)
    reference.emplace(with_outputs(*reference_model,
                                   names_of(compare_options.before, &BeforeActivation::reference)),
                      options.reference_runtime);
  compare_options.watch_candidate = watcher(candidate_model, options.candidate_runtime);
  Runner& own_reference = reference ? static_cast<Runner&>(*reference) : *models.reference_runner;
  const auto decoders = compared_decoders(models, samples, compare_options.io);
  std::unique_ptr<Runner> fed;
  if (reference_model)
    fed = feed_decoder(own_reference, *reference_model, candidate_model, compare_options.io.roles);
  Runner& reference_runner = fed ? *fed : own_reference;
  // A cache of another length does not fit the mask: later steps are then fed the reference's.
  if (decoders && !have_equal_lengths({own_reference, decoders->reference},
                                      {*candidate, decoders->candidate}, decoders->prompt))
    compare_options.io.teacher = true;
  CompareResult result = compare(reference_runner, *candidate, samples, compare_options);
  if (decoders && !result.verdict.pass())
    result.cache_faults = find_cache_faults({own_reference, decoders->reference},
                                            {*candidate, decoders->candidate}, decoders->prompt);
  // Further runs open sessions of their own: both candidates at once would take too much memory.
  candidate.reset();
  exact.reset();
  compare_options.exact = nullptr;
  judge_by_further_runs(result, {.models = models,
                                 .reference = reference_runner,
                                 .read = read,
                                 .extended = extended,
                                 .samples = samples,
                                 .options = options,
                                 .is_whole = judged,
                                 .close_reference = [&] {
                                   if (reference) reference->close();
                                 }});
  if (evidence.quantized)
    result.verdict = with_failures(std::move(result.verdict), nonfinite_scales(models.candidate));
  if (reference_model && !compare_options.allow_missing)
    result.verdict =
        with_failures(std::move(result.verdict),
                      missing_values(*reference_model, candidate_model, compare_options.io));
  if (is_costly_quantization(result)) result.warnings.push_back({WarningKind::costly_quantization});
  std::vector<Warning> warnings = warnings_about(models);
  std::ranges::move(warnings_about(result.evidence), std::back_inserter(warnings));
  result.warnings.insert(result.warnings.begin(), warnings.begin(), warnings.end());
  return result;
}

}  // namespace vernier
