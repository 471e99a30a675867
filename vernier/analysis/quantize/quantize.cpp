#include "vernier/analysis/quantize/quantize.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

#include "vernier/analysis/parts/cpu.h"
#include "vernier/analysis/quantize/quantizing.h"
#include "vernier/error.h"
#include "vernier/model/graph.h"
#include "vernier/model/precision.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/name_pattern.h"

namespace vernier {
namespace {

constexpr std::int64_t few_samples = 16;
constexpr std::int64_t explaining_samples = 8;  // of those held back, to explain a loss

constexpr std::array<std::string_view, 8> integer_ops = {
    "QLinearConv",          "QLinearMatMul", "MatMulInteger", "ConvInteger",
    "MatMulIntegerToFloat", "QGemm",         "MatMulNBits",   "DynamicQuantizeMatMul"};
// Float operators, as ONNX Runtime's optimiser leaves or fuses them.
constexpr std::array<std::string_view, 7> product_ops = {
    "Conv", "ConvTranspose", "Gemm", "MatMul", "FusedConv", "FusedGemm", "FusedMatMul"};

std::int64_t batch_norms(const Model& model) {
  return std::ranges::count_if(model.graph().node(), [](const NodeProto& node) {
    return is_op(node, "BatchNormalization");
  });
}

void name_nodes(Model& model) {
  std::unordered_set<std::string> names;
  for (const NodeProto& node : model.graph().node()) names.insert(node.name());
  std::unordered_set<std::string> seen;
  for (NodeProto& node : *model.graph().mutable_node()) {
    const std::string given = node.name();
    if (!given.empty() && seen.insert(given).second) continue;
    const std::string stem = given.empty() ? node_label(node) : given;
    std::string name = stem;
    for (int i = 1; names.contains(name); ++i) name = fmt::format("{}_{}", stem, i);
    names.insert(name);
    seen.insert(name);
    node.set_name(name);
  }
}

// Folds batch normalisation and constants, removes Identity and Dropout, infers shapes (ONNX
// Runtime's optimiser at its basic level), and names every node. Throws Error for a model that is
// quantized or float16.
PreparedModel prepare(const Model& model) {
  if (precision_of(model) == Precision::int8)
    throw Error(
        fmt::format("[quantize] {}: is quantized already; `vernier repair` improves it, and "
                    "quantize takes the float model it was made from",
                    model.name()));
  if (precision_of(model) == Precision::fp16)
    throw Error(fmt::format("[quantize] {}: is float16; give the float32 model it was made from",
                            model.name()));
  PreparedModel prepared{.model = optimize(model, Optimization::basic),
                         .nodes_before = model.graph().node_size()};
  prepared.nodes_after = prepared.model.graph().node_size();
  prepared.batch_norms = batch_norms(model) - batch_norms(prepared.model);
  name_nodes(prepared.model);
  return prepared;
}

}  // namespace

Quantizing::Quantizing(const Model& model, Samples* samples, const QuantizeOptions& options)
    : options_(options), prepared_(prepare(model)), index_(prepared_.model) {
  if (samples && samples->size() > 0) shared_.emplace(*samples);
  plan_ = plan_keeping({});
  for (const PlacedTensor& placed : plan_.tensors)
    roots_[placed.name] = plan_.tensors[placed.root].name;
  if (plan_.nodes.empty())
    throw Error(
        fmt::format("[quantize] {}: has no Conv, ConvTranspose, Gemm or MatMul of float32 in its "
                    "main graph that could be quantized",
                    model.name()));
  if (options.precision.needs_calibration() && !shared_)
    throw Error(
        fmt::format("[quantize] {}: {} needs calibration data; give --data or --dataset, or "
                    "--synthetic for synthetic inputs",
                    model.name(), options.precision.name));
  if (!options.limits.empty() && !shared_)
    throw Error("[quantize] --fail-if: nothing can be measured without --data or --dataset");
  choices_ = {
      .precision = options_.precision,
      .storage = options_.precision.weight_bits == 8 && options_.precision.activation_bits == 8
                     ? weight_storage(options_.target)
                     : WeightStorage::int8,
      .blocks = {.bits = std::min(options_.precision.weight_bits, 8),
                 .block_size = options_.block_size,
                 .symmetric = options_.symmetric_weights}};
  keep_in_8_bits();
  const std::int64_t count = shared_ ? shared_->size() : 0;
  parts_ = split_samples(count, options_.effort != Effort::fast || options_.set_choosing_apart);
  if (shared_ && count < few_samples)
    warnings_.push_back({.kind = WarningKind::few_samples,
                         .value = static_cast<double>(count),
                         .limit = static_cast<double>(few_samples)});
}

PlacementPlan Quantizing::plan_keeping(std::vector<std::string> nodes) const {
  nodes.insert(nodes.end(), kept_.begin(), kept_.end());
  nodes.insert(nodes.end(), options_.keep_nodes.begin(), options_.keep_nodes.end());
  return place_quantizers(*index_, {.placement = options_.placement,
                                    .activations = options_.precision.needs_calibration(),
                                    .keep_nodes = std::move(nodes)});
}

Model Quantizing::write(const PlacementPlan& plan, QuantizationChoices choices) const {
  for (const PlacedTensor& placed : plan.tensors)
    if (const auto root = roots_.find(placed.name); root != roots_.end())
      if (const auto range = choices.ranges.find(root->second); range != choices.ranges.end())
        choices.ranges.emplace(placed.name, range->second);
  return write_quantized(*index_, plan, choices);
}

SampleRuns Quantizing::runs(std::vector<std::int64_t> indices) {
  return {*shared_, std::move(indices), options_.threads, options_.records};
}

void Quantizing::report(std::int64_t done) {
  const std::int64_t total = std::ssize(parts_.calibration);
  if (options_.progress && !options_.progress(std::min(done, total), total)) go_on_ = false;
}

void Quantizing::calibrate() {
  report(0);
  if (!options_.precision.needs_calibration()) return;
  std::int64_t done = 0;
  CalibrationHooks hooks{.sample_done = [&] { report(++done); }};
  if (scales_channels()) {
    extremes_ = std::make_unique<ChannelExtremes>(find_scalable(*index_));
    hooks.tensors = extremes_->tensors();
    hooks.observe = [&](const TensorView& tensor) { extremes_->observe(tensor); };
  }
  values_ = vernier::calibrate(prepared_.model, plan_, runs(parts_.calibration), hooks);
  choices_.ranges = ranges_by(RangeRule::minmax, values_, options_.precision.activation_bits);
  for (const auto& [tensor, range] : options_.given_ranges) {
    const auto found = choices_.ranges.find(tensor);
    if (found == choices_.ranges.end())
      throw Error(
          fmt::format("[quantize] --ranges: '{}' is no tensor that gets a quantizer", tensor));
    found->second = range;
  }
  for (const auto& [tensor, values] : values_)
    if (values.nonfinite() > 0)
      warnings_.push_back({.kind = WarningKind::nonfinite_values,
                           .subject = tensor,
                           .value = static_cast<double>(values.nonfinite())});
}

void Quantizing::calibrate_again() {
  if (values_.empty() || parts_.choosing.empty() || !go_on_) return;
  const double steps = std::ldexp(1.0, options_.precision.activation_bits) - 1;
  QuantizationChoices again = choices_;
  if (unscaled_ || !choosing_values_)
    choosing_values_ = vernier::calibrate(prepared_.model, plan_, runs(parts_.choosing));
  for (const auto& [tensor, counts] : *choosing_values_) {
    const auto range = again.ranges.find(tensor);
    const auto known = values_.find(tensor);
    const auto rule = range == again.ranges.end() ? std::nullopt : range_rule_of(range->second);
    if (!rule || known == values_.end()) continue;
    ValueCounts all = known->second;
    all.add(counts);
    range->second = range_by(*rule, all, steps);
  }
  if (again.ranges == choices_.ranges) return;
  OutputScore after = chooser().score(write(plan_, again));
  const Gain gained = gain(score(), after);
  const bool helps = gained.db >= 0;
  decisions_.push_back({"ranges of all samples", "", after.sqnr_db(), gained, helps});
  if (!helps) return;
  choices_ = std::move(again);
  score_ = std::move(after);
}

const OutputScorer& Quantizing::chooser() {
  if (chooser_) return *chooser_;
  // The runs that give the reference's outputs also give the values that calibrate_again() needs.
  std::vector<std::vector<Tensor>> outputs;
  if (!values_.empty()) {
    outputs.resize(parts_.choosing.size());
    choosing_values_ = vernier::calibrate(
        reference(), plan_, runs(parts_.choosing),
        {.outputs = [&](std::int64_t i, std::vector<Tensor> of) { outputs[i] = std::move(of); }});
  }
  return chooser_.emplace(reference(), runs(parts_.choosing), std::move(outputs));
}

const OutputScore& Quantizing::score() {
  if (!score_) score_ = chooser().score(write(plan_, choices_));
  return *score_;
}

void Quantizing::keep_in_float(std::vector<std::string> nodes) {
  plan_ = plan_keeping(std::move(nodes));
}

void Quantizing::keep_in_8_bits() {
  for (const std::string& pattern : options_.keep_8bit) {
    bool found = false;
    for (const PlacedNode& node : plan_.nodes) {
      if (!matches_name(pattern, node.name)) continue;
      found = true;
      for (const std::size_t weight : node.weights)
        choices_.weight_bits[plan_.weights[weight].name] = 8;
    }
    if (!found)
      throw Error(
          fmt::format("[quantize] --keep-8bit {}: no node that is quantized fits", pattern));
  }
}

QuantizeResult Quantizing::finish() {
  Model quantized = write(plan_, choices_);
  std::optional<HeldBackResult> held_back;
  if (shared_) held_back = judge_held_back(quantized);
  QuantizeResult result{
      .float_model = std::move(prepared_.model),
      .model = std::move(quantized),
      .nodes_before = prepared_.nodes_before,
      .float_model_nodes = prepared_.nodes_after,
      .batch_norms = prepared_.batch_norms,
      .quantized_nodes = std::ssize(plan_.nodes),
      .quantizers = std::ssize(plan_.tensors),
      .choices = choices_,
      .decisions = std::move(decisions_),
      .calibration_samples = options_.precision.needs_calibration() || choices_.packed
                                 ? std::ssize(parts_.calibration)
                                 : 0,
      .choosing_samples = std::ssize(parts_.choosing),
      .held_back = std::move(held_back),
      .warnings = std::move(warnings_),
      .interrupted = !go_on_};
  for (const auto& node : result.float_model.graph().node())
    for (const char* op : {"Conv", "ConvTranspose", "Gemm", "MatMul"})
      result.float_nodes += is_op(node, op);
  result.float_nodes -= result.quantized_nodes;
  const Model executed = optimize(result.model, Optimization::all);
  for (const auto& node : executed.graph().node())
    if (is_one_of(node, integer_ops))
      ++result.integer_kernels[node.op_type()];
    else if (is_one_of(node, product_ops))
      ++result.float_kernels[node.op_type()];
  result.verdict = verdict_of(result);
  return result;
}

HeldBackResult Quantizing::judge_held_back(const Model& quantized) {
  const OutputScorer scorer(reference(), runs(parts_.held_back));
  const OutputScore exact = scorer.score(quantized);
  const OutputScore deployed = scorer.score(quantized, Arithmetic::deployed);
  HeldBackResult held{.samples = std::ssize(parts_.held_back),
                      .sqnr_db = exact.sqnr_db(),
                      .interval = sqnr_interval(exact.noise),
                      .outputs = figures_of(exact.noise),
                      .agreement = exact.agreement,
                      .accuracy = exact.accuracy,
                      .reference_accuracy = scorer.reference_accuracy(),
                      .deployed_sqnr_db = deployed.sqnr_db()};
  if (is_noticeable_loss(held.sqnr_db - held.deployed_sqnr_db))
    held.arithmetic = explain_deployment(quantized);
  if (scorer.scores_tokens()) {
    held.kl_mean = exact.kl_mean();
    held.kl_interval = kl_interval(exact.noise);
  }
  if (choices_.storage == WeightStorage::int8 || plan_.nodes.empty() || !saturates_here())
    return held;
  QuantizationChoices signed_weights = choices_;
  signed_weights.storage = WeightStorage::int8;
  const Model other = write_quantized(*index_, plan_, signed_weights);
  held.int8_sqnr_db = exact.sqnr_db();  // the stored weights represent the same numbers
  held.int8_deployed_db = scorer.score(other, Arithmetic::deployed).sqnr_db();
  return held;
}

std::optional<ArithmeticLoss> Quantizing::explain_deployment(const Model& quantized) {
  OrtRunner real(reference().clone(), {.threads = options_.threads});
  OrtRunner in_exact(quantized.clone(), {.exact = true, .threads = options_.threads});
  std::vector<ExactSample> samples;
  for (const std::int64_t index : parts_.held_back) {
    if (std::ssize(samples) == explaining_samples) break;
    ExactSample& sample = samples.emplace_back(shared_->sample(index));
    sample.reference = real.run(sample.inputs);
    sample.exact = in_exact.run(sample.inputs);
  }
  const OrtOptions deployed{.threads = options_.threads};
  auto loss = measure_arithmetic_loss({ModelIndex(quantized), &*index_, deployed}, samples);
  return loss && is_noticeable_loss(loss->db()) ? loss : std::nullopt;
}

Verdict Quantizing::verdict_of(const QuantizeResult& result) const {
  std::vector<Judged> subjects;
  if (const auto& held = result.held_back) {
    Judged judged{.name = "output"};  // all outputs, pooled
    if (held->outputs.size() == 1) judged = {.name = held->outputs.front().name, .group = "output"};
    judged.metrics = {{"sqnr_db", held->sqnr_db},
                      {"deployed_sqnr_db", held->deployed_sqnr_db},
                      {"agreement", held->agreement},
                      {"kl_mean", held->kl_mean}};
    std::optional<double> drop;
    if (held->accuracy && held->reference_accuracy)
      drop = *held->reference_accuracy - *held->accuracy;
    judged.metrics.emplace_back("top1_accuracy_drop", drop);
    subjects.push_back(std::move(judged));
    for (const OutputFigure& output : held->outputs)
      if (held->outputs.size() > 1)
        subjects.push_back(
            {.name = output.name, .group = "output", .metrics = {{"sqnr_db", output.sqnr_db}}});
  }
  return make_verdict(options_.limits, judge(options_.limits, subjects));
}

std::string_view target_cpu_name(TargetCpu target) {
  switch (target) {
    case TargetCpu::any: return "any";
    case TargetCpu::native: return "native";
    default: return "vnni";
  }
}

TargetCpu parse_target_cpu(std::string_view name) {
  for (const TargetCpu target : {TargetCpu::any, TargetCpu::native, TargetCpu::vnni})
    if (target_cpu_name(target) == name) return target;
  throw Error(fmt::format("[quantize] --target-cpu {}: expected any, native or vnni", name));
}

bool saturates_here() {
  const std::string kind = cpu_kind();
  return kind.starts_with("x86-64") && kind.find("vnni") == kind.npos;
}

WeightStorage weight_storage(TargetCpu target) {
  const bool careful =
      target == TargetCpu::any || (target == TargetCpu::native && saturates_here());
  return careful ? WeightStorage::uint8 : WeightStorage::int8;
}

std::vector<std::string> quantize_limit_metrics() {
  return {"sqnr_db", "deployed_sqnr_db", "agreement", "top1_accuracy_drop", "kl_mean"};
}

SampleParts split_samples(std::int64_t count, bool choose) {
  SampleParts parts;
  if (count < 4) {
    for (std::int64_t i = 0; i < count; ++i) parts.calibration.push_back(i);
    parts.held_back = parts.calibration;
    return parts;
  }
  // Of every eight samples two are held back; of the other six half choose and half calibrate.
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t place = i % 8;
    if (place % 4 == 3 && std::ssize(parts.held_back) < most_held_back)
      parts.held_back.push_back(i);
    else if (choose && (place == 1 || place == 4 || place == 6))
      parts.choosing.push_back(i);
    else
      parts.calibration.push_back(i);
  }
  return parts;
}

void require_choosing(std::string_view operation, const SampleParts& parts,
                      const Samples& samples) {
  if (parts.choosing.empty())
    throw Error(
        fmt::format("[{}] {} samples are too few to choose and judge by; give at least 16, better "
                    "128 or more",
                    operation, samples.size()));
}

void require_float(std::string_view operation, const Model& reference) {
  if (precision_of(reference) == Precision::int8)
    throw Error(fmt::format("[{}] --reference {}: is quantized; give the float model", operation,
                            reference.name()));
}

QuantizeResult quantize(const Model& model, Samples* samples, const QuantizeOptions& options) {
  Quantizing quantizing(model, samples, options);
  quantizing.calibrate();
  quantizing.search();
  quantizing.calibrate_again();
  return quantizing.finish();
}

}  // namespace vernier
