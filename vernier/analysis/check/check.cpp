#include "vernier/analysis/check/check.h"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "vernier/analysis/check/finding_kinds.h"
#include "vernier/analysis/check/groups.h"
#include "vernier/analysis/evidence/evidence.h"
#include "vernier/data/random.h"
#include "vernier/error.h"
#include "vernier/model/input_kind.h"
#include "vernier/runtime/open_runner.h"

namespace vernier {
namespace {

bool is_wanted(const CheckOptions& options, std::string_view id) {
  const auto holds = [&](const std::vector<std::string>& ids) {
    return std::ranges::find(ids, id) != ids.end();
  };
  return (options.only.empty() || holds(options.only)) && !holds(options.disable);
}

void require_ids(const CheckOptions& options) {
  for (const auto* ids : {&options.only, &options.disable})
    for (const std::string& id : *ids) finding_kind(id);
  if (std::ranges::none_of(finding_kinds(),
                           [&](const FindingKind& kind) { return is_wanted(options, kind.id); }))
    throw Error("[check] --disable leaves out every finding of --only; leave one of them in");
}

void require_onnx(const std::filesystem::path& path) {
  if (model_format(path) != ModelFormat::onnx)
    throw Error(fmt::format("[check] {}: only ONNX models can be checked; name an .onnx file",
                            path.string()));
  if (!std::filesystem::is_regular_file(path))
    throw Error(fmt::format("[check] {}: not a file; name an .onnx file", path.string()));
  if (access(path.c_str(), R_OK) != 0)
    throw Error(fmt::format("[check] {}: cannot be read; change its permissions", path.string()));
}

// Whether any finding of the group is wanted.
bool wants(const CheckOptions& options, CheckGroup group) {
  return std::ranges::any_of(finding_kinds(), [&](const FindingKind& kind) {
    return kind.group == group && is_wanted(options, kind.id);
  });
}

Findings contrib_operators(const ModelIndex& index) {
  Findings findings = check_operators(index);
  std::erase_if(findings, [](const Finding& f) { return f.severity != Severity::note; });
  return findings;
}

Findings check_static(const ModelIndex& index, const CheckOptions& options) {
  Findings findings;
  if (wants(options, CheckGroup::training_mode)) append(findings, check_training_mode(index));
  if (wants(options, CheckGroup::numerics)) append(findings, check_weights(index));
  if (wants(options, CheckGroup::preprocessing))
    append(findings, check_preprocessing(index, options));
  if (wants(options, CheckGroup::structure)) append(findings, check_structure(index));
  if (wants(options, CheckGroup::quantization)) append(findings, check_quantization(index));
  return findings;
}

// Checks that use the optimised model. Sessions are opened one at a time: each holds the weights.
Findings check_optimised(const ModelIndex& index, Runs& runs, const CheckOptions& options) {
  Findings findings = std::move(runs.findings);
  if (runs.runner) append(findings, contrib_operators(index));
  if (runs.ran() && !options.reference.empty() && wants(options, CheckGroup::consistency))
    append(findings, check_consistency(index, runs, options));
  if (wants(options, CheckGroup::numerics)) append(findings, check_indices(index, runs));
  runs.runner.reset();
  return findings;
}

// Checks that run the graph without optimisation. Sizes are tried here, because fused kernels
// assume that sizes fit together.
Findings check_as_written(const ModelIndex& index, const Runs& runs, const CheckOptions& options) {
  Findings findings;
  const bool numerics = wants(options, CheckGroup::numerics);
  const bool axes = wants(options, CheckGroup::dynamic_axes);
  const bool calibration = is_wanted(options, "unfilled-range");
  std::unique_ptr<Runner> runner;
  if (runs.ran() && (numerics || axes || calibration))
    runner = open_as_written(index.model(), options);
  const ObservedTensors observed = runner ? check_values(index, runs, *runner) : ObservedTensors{};
  if (numerics) append(findings, observed.findings);
  if (numerics) append(findings, check_numerics(index, observed));
  if (calibration)
    append(findings, check_calibration(index, observed, static_cast<bool>(options.samples)));
  if (runner && axes) append(findings, check_declared_axes(index, runs, *runner));
  runner.reset();
  if (runs.ran() && axes) append(findings, check_fixed_axes(index, runs, options));
  return findings;
}

Findings check_running(const ModelIndex& index, CheckOptions options) {
  Findings ended;
  options.process_ended = [&ended, &index, told = options.process_ended](const ProcessEnded& end) {
    ended.push_back(ended_run(index, end));
    if (told) told(end);
  };
  Runs runs = check_runs(index, options);
  const bool accepted = runs.runner != nullptr;
  Findings findings = check_optimised(index, runs, options);
  append(findings, check_as_written(index, runs, options));
  if (accepted && is_wanted(options, "missing-shapes"))
    append(findings, check_shapes(index, options));
  append(findings, std::move(ended));
  return findings;
}

bool needs_runs(const CheckOptions& options) {
  using enum CheckGroup;
  return wants(options, runs) || wants(options, consistency) || wants(options, dynamic_axes) ||
         wants(options, numerics) || is_wanted(options, "missing-shapes") ||
         is_wanted(options, "unfilled-range");
}

Findings check_model(const ModelIndex& index, const CheckOptions& options) {
  Findings findings = check_files(index);
  if (findings.empty() && needs_runs(options)) append(findings, check_running(index, options));
  append(findings, check_static(index, options));
  return findings;
}

Findings unreadable(const std::filesystem::path& path) {
  if (auto oversized = check_file_size(path)) return {*std::move(oversized)};
  return {make_finding("unreadable-file", {}, {StatementKind::damaged_file})};
}

std::shared_ptr<const ModelIndex> load_reference(const std::filesystem::path& path) {
  try {
    return std::make_shared<const ModelIndex>(Model::load(path));
  } catch (const Error&) {
    return nullptr;
  }
}

// Loads an ONNX reference, or starts the host of a hosted one on the first sample.
CheckOptions with_reference(CheckOptions options, const Model& model) {
  if (options.reference.empty()) return options;
  const ModelFormat format = model_format(options.reference);
  if (format == ModelFormat::onnx) options.reference_model = load_reference(options.reference);
  if (format != ModelFormat::hosted) return options;
  const auto samples =
      options.samples ? options.samples(model)
                      : random_samples(model.inputs(), {.index_lengths = index_lengths(model)});
  RunnerOptions runner{.host = described_by(options.host, samples->sample(0), model.outputs())};
  runner.host.watch = HostWatch::layers;  // leaves help to compare weights of batch norms
  options.hosted = open_runner(options.reference, runner);
  return options;
}

// Compares with the reference's weights; nullopt if they cannot be read.
std::optional<WeightEvidence> compare_weights(const ModelIndex& index,
                                              const CheckOptions& options) {
  if (options.reference.empty() || !options.weight_evidence) return std::nullopt;
  try {
    if (options.reference_model) return compare_weights_of(*options.reference_model, index);
    if (model_format(options.reference) == ModelFormat::onnx) return std::nullopt;
    if (options.hosted) return compare_weights_of(*options.hosted, index);
    const RunnerOptions watching{.torch = {.watch_leaves = true}};
    return compare_weights_of(*open_runner(options.reference, watching), index);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Sorts errors first, then by the order of finding_kinds().
std::pair<int, std::ptrdiff_t> rank(const Finding& finding) {
  return {-static_cast<int>(finding.severity), &finding_kind(finding.id) - finding_kinds().data()};
}

// What a finding leaves undecided, which is neither a failure for that reason nor a pass.
std::optional<Doubt> doubt_of(const Finding& finding) {
  if (finding.severity != Severity::warning) return std::nullopt;
  if (finding.id == "not-run") return Doubt{.kind = DoubtKind::not_run};
  if (finding.id == "nonfinite-reference")
    return Doubt{.kind = DoubtKind::unknown_reference, .subject = finding.subject.name};
  return std::nullopt;
}

Verdict judge(const CheckResult& result, bool strict) {
  using enum Limit::Fails;
  std::vector<Doubt> doubts;
  for (const Finding& finding : result.findings)
    if (auto doubt = doubt_of(finding)) doubts.push_back(*std::move(doubt));
  std::vector<Limit> limits = {{.metric = "errors", .fails = above}};
  if (strict) limits.push_back({.metric = "warnings", .fails = above});
  const Judged model{
      .metrics = {{"errors", result.count(Severity::error)},
                  {"warnings", result.count(Severity::warning) - std::ssize(doubts)}}};
  Verdict verdict = make_verdict(limits, vernier::judge(limits, {&model, 1}));
  return verdict.pass() ? withheld(std::move(verdict), std::move(doubts)) : verdict;
}

}  // namespace

std::int64_t CheckResult::count(Severity severity) const {
  return std::ranges::count(findings, severity, &Finding::severity);
}

std::unique_ptr<const ModelIndex> load_to_check(const std::filesystem::path& path) {
  require_onnx(path);
  try {
    return std::make_unique<const ModelIndex>(Model::load(path));
  } catch (const Error&) {
    return nullptr;
  }
}

CheckResult check(const std::filesystem::path& path, const CheckOptions& options) {
  require_ids(options);
  return check(path, load_to_check(path).get(), options);
}

CheckResult check(const std::filesystem::path& path, const ModelIndex* index,
                  const CheckOptions& given) {
  require_ids(given);
  require_provider(given.runtime.provider);
  if (!given.reference.empty()) model_format(given.reference);  // throws if unsupported
  const CheckOptions options = index ? with_reference(given, index->model()) : given;
  CheckResult result{.findings = index ? check_model(*index, options) : unreadable(path)};
  std::erase_if(result.findings, [&](const Finding& f) { return !is_wanted(options, f.id); });
  result.findings = grouped(std::move(result.findings));
  std::ranges::stable_sort(result.findings, {}, rank);
  result.verdict = judge(result, options.strict);
  if (index) result.weights = compare_weights(*index, options);
  if (result.weights) result.verdict = with_weights(std::move(result.verdict), *result.weights);
  return result;
}

}  // namespace vernier
