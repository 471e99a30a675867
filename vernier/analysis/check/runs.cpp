#include "vernier/analysis/check/runs.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <optional>
#include <regex>

#include "vernier/analysis/check/nondeterminism.h"
#include "vernier/analysis/check/numerics.h"
#include "vernier/analysis/check/trial.h"
#include "vernier/data/random.h"
#include "vernier/error.h"
#include "vernier/model/input_kind.h"

namespace vernier {
namespace {

constexpr std::int64_t samples_drawn = 3;
// More elements than this are not tried for an axis whose size is not known.
constexpr std::int64_t most_elements = std::int64_t{1} << 24;

// Operators of other domains that ONNX Runtime does not know, as it says itself.
std::optional<Finding> unregistered(const Graphs& graphs, const std::string& message) {
  static const std::regex pattern(R"((\S+):(\w+)\(-?\d+\) is not a registered function/op)");
  std::smatch match;
  if (!std::regex_search(message, match, pattern)) return std::nullopt;
  for (const Body& subgraph : graphs.subgraphs)
    for (const auto& node : subgraph.graph->node())
      if (is_op(node, match[2].str(), match[1].str()))
        return make_finding("unknown-operator", node_subject(subgraph, node),
                            fmt::format("the domain {} has no operator {} in ONNX Runtime",
                                        node.domain(), node.op_type()));
  return std::nullopt;
}

Findings refusal(const Graphs& graphs, const Error& error) {
  Findings findings;
  for (Finding& finding : check_operators(graphs))
    if (finding.severity == Severity::error) findings.push_back(std::move(finding));
  if (!findings.empty()) return findings;
  const std::string message = bare_message(error.what());
  if (auto finding = unregistered(graphs, message)) return {*std::move(finding)};
  return {make_finding("refused-model", subject_of_error(graphs, message), message)};
}

Finding not_run(const std::string& evidence) { return make_finding("not-run", {}, evidence); }

// Sizes for the dynamic axes to try in turn: mostly 1 works; images and audio need more.
std::vector<std::vector<std::int64_t>> size_candidates(std::span<const DynamicAxis> axes) {
  std::vector<std::vector<std::int64_t>> candidates;
  const auto add = [&](std::int64_t batch, std::int64_t other) {
    std::vector<std::int64_t> sizes;
    for (const DynamicAxis& axis : axes) sizes.push_back(axis.is_batch ? batch : other);
    if (std::ranges::find(candidates, sizes) == candidates.end()) candidates.push_back(sizes);
  };
  for (const std::int64_t other : {1, 16, 64, 224, 512}) add(1, other);
  for (const std::int64_t batch : {2, 4, 8, 16, 32, 64}) add(batch, 1);
  return candidates;
}

bool is_affordable(const std::map<std::string, Shape>& shapes) {
  return std::ranges::all_of(shapes, [](const auto& entry) {
    const auto count = checked_element_count(entry.second);
    return count && *count <= most_elements;
  });
}

// Sizes, axes and rates that are inputs: random numbers are no good as such.
bool has_parameters(std::span<const TensorSpec> inputs) {
  return std::ranges::any_of(inputs, [](const TensorSpec& spec) { return spec.shape.size() < 2; });
}

// What a run that failed on all generated inputs means: only where these were beyond doubt is the
// model to blame.
Finding failure(const Graphs& graphs, std::span<const TensorSpec> inputs,
                std::span<const DynamicAxis> axes, const std::string& error) {
  if (error.empty()) return not_run("the declared inputs are too large to generate");
  if (std::ranges::any_of(axes, [](const DynamicAxis& axis) { return !axis.is_batch; }))
    return not_run(fmt::format("no size that was tried for its dynamic axes runs: {}", error));
  if (has_parameters(inputs))
    return not_run(fmt::format("it does not run on random numbers: {}", error));
  return make_finding("failed-run", subject_of_error(graphs, error), error);
}

void run_given(const Graphs& graphs, const CheckOptions& options, Runs& runs) {
  const std::unique_ptr<Samples> samples = options.samples(graphs.model);
  const std::int64_t count = std::min(samples->size(), samples_drawn);
  for (std::int64_t i = 0; i < count; ++i) runs.samples.push_back(samples->sample(i));
  append(runs.findings, check_given_indices(runs, runs.samples.front()));
  Trial trial = try_run(*runs.runner, runs.samples.front());
  if (trial.outputs) {
    runs.outputs = std::move(*trial.outputs);
    return;
  }
  runs.samples.clear();
  runs.findings.push_back(
      make_finding("failed-run", subject_of_error(graphs, trial.error), trial.error));
}

void run_generated(const Graphs& graphs, Runs& runs) {
  const std::vector<TensorSpec>& inputs = runs.runner->inputs();
  const std::vector<DynamicAxis> axes = dynamic_axes(inputs);
  std::string error;
  for (const auto& sizes : size_candidates(axes)) {
    const auto shapes = shapes_with(inputs, axes, sizes);
    if (!is_affordable(shapes)) continue;
    const std::vector<Tensor> first = draw_inputs(runs, inputs, shapes, 0);
    Trial trial = try_run(*runs.runner, first);
    if (error.empty()) error = trial.error;
    if (!trial.outputs) continue;
    runs.outputs = std::move(*trial.outputs);
    runs.samples.push_back(first);
    for (std::int64_t i = 1; i < samples_drawn; ++i)
      runs.samples.push_back(draw_inputs(runs, inputs, shapes, i));
    return;
  }
  runs.findings.push_back(failure(graphs, inputs, axes, error));
}

// Why no inputs can be made; empty if they can.
std::string obstacle(const Model& model) {
  for (const OtherValue& input : model.other_inputs())
    return fmt::format("input '{}' has type {}, only tensors of numbers can be generated",
                       input.name, input.type);
  for (const TensorSpec& input : model.inputs())
    if (!input.ranked) return fmt::format("input '{}' declares no shape", input.name);
  return "";
}

}  // namespace

std::vector<Tensor> draw_inputs(const Runs& runs, std::span<const TensorSpec> inputs,
                                const std::map<std::string, Shape>& shapes, std::int64_t sample) {
  RandomOptions options{.shapes = shapes, .index_lengths = runs.lengths};
  const std::vector<InputDraw> draws = plan_draws(inputs, options);
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < draws.size(); ++i)
    tensors.push_back(draw(draws[i], {.sample = sample, .input = static_cast<std::int64_t>(i)}));
  return tensors;
}

Runs check_runs(const Graphs& graphs, const CheckOptions& options) {
  Runs runs;
  const std::string why_not = obstacle(graphs.model);
  if (!graphs.model.other_inputs().empty()) {
    runs.findings.push_back(not_run(why_not));
    return runs;
  }
  try {
    runs.runner = std::make_unique<OrtRunner>(graphs.model.clone(), options.runtime);
  } catch (const Error& error) {
    runs.findings = refusal(graphs, error);
    return runs;
  }
  runs.lengths = index_lengths(graphs.model);
  if (options.samples)
    run_given(graphs, options, runs);
  else if (!why_not.empty())
    runs.findings.push_back(not_run(why_not));
  else
    run_generated(graphs, runs);
  if (!runs.ran()) return runs;
  Findings differences = check_determinism(graphs, runs, options);
  runs.deterministic = differences.empty();
  append(runs.findings, std::move(differences));
  return runs;
}

}  // namespace vernier
