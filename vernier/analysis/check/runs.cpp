#include "vernier/analysis/check/runs.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <regex>
#include <string_view>

#include "vernier/analysis/check/groups.h"
#include "vernier/data/input_shape.h"
#include "vernier/error.h"
#include "vernier/model/input_kind.h"
#include "vernier/runtime/isolated_runner.h"

namespace vernier {
namespace {

std::string in_subgraph(const GraphIndex& graph, const std::string& name) {
  return graph.path().empty() ? name : graph.path() + "/" + name;
}

// The message without its prefix: the operation and the model's name.
std::string bare_message(const std::string& message) {
  static const std::regex front(R"(^\[[a-z]+\] .*?\.onnx: )");
  return std::regex_replace(message, front, "");
}

// The node name in a message of ONNX Runtime; empty if there is none.
std::string named_node(const std::string& message) {
  static const std::array patterns = {
      std::regex(R"(node '([^']+)' \()"), std::regex(R"(In Node, \("([^"]+)\")"),
      std::regex(R"re(Node[: ]\s?\(([^)]+)\))re"), std::regex(R"(with name '([^']+)')"),
      std::regex(R"(in node \(([^)]+)\))")};
  for (const std::regex& pattern : patterns)
    if (std::smatch match; std::regex_search(message, match, pattern)) return match[1];
  return "";
}

struct Produced {
  std::string tensor;
  std::size_t hash = 0;
};

std::vector<Produced> fingerprints(Runner& watched, std::span<const Tensor> inputs) {
  std::vector<Produced> produced;
  watched.run(inputs, [&](const TensorView& tensor) {
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.bytes.data()),
                                 tensor.bytes.size());
    produced.push_back({std::string(tensor.name), std::hash<std::string_view>{}(bytes)});
  });
  return produced;
}

// The first tensor that differs between two watched runs; empty if none does.
std::string first_difference(const ModelIndex& index, const Runs& runs,
                             const CheckOptions& options) {
  const std::unique_ptr<Runner> watched = open_as_written(index.model(), options);
  if (!watched) return "";
  const auto first = fingerprints(*watched, runs.samples.front());
  const auto second = fingerprints(*watched, runs.samples.front());
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i)
    if (first[i].hash != second[i].hash) return first[i].tensor;
  return "";
}

constexpr std::int64_t samples_drawn = 3;
// Inputs with more elements than this are not generated.
constexpr std::int64_t most_elements = std::int64_t{1} << 24;

// An operator of another domain that ONNX Runtime does not know, according to its message.
std::optional<Finding> unregistered(const ModelIndex& index, const std::string& message) {
  static const std::regex pattern(R"((\S+):(\w+)\(-?\d+\) is not a registered function/op)");
  std::smatch match;
  if (!std::regex_search(message, match, pattern)) return std::nullopt;
  for (const GraphIndex& graph : index.graphs())
    for (const auto& node : graph.graph().node())
      if (is_op(node, match[2].str(), match[1].str()))
        return make_finding(
            "unknown-operator", node_subject(graph, node),
            {StatementKind::unregistered_operator, {node.domain(), node.op_type()}});
  return std::nullopt;
}

Findings refusal(const ModelIndex& index, const Error& error) {
  Findings findings;
  for (Finding& finding : check_operators(index))
    if (finding.severity == Severity::error) findings.push_back(std::move(finding));
  if (!findings.empty()) return findings;
  const std::string message = bare_message(error.what());
  if (auto finding = unregistered(index, message)) return {*std::move(finding)};
  return {make_finding("refused-model", subject_of_error(index, message),
                       {StatementKind::message, {message}})};
}

Finding not_run(Statement evidence) { return make_finding("not-run", {}, std::move(evidence)); }

bool is_affordable(const std::map<std::string, Shape>& shapes) {
  return std::ranges::all_of(shapes, [](const auto& entry) {
    const auto count = checked_element_count(entry.second);
    return count && *count <= most_elements;
  });
}

// Whether an input may be a size, an axis or a rate, for which random numbers are no use.
bool has_parameters(std::span<const TensorSpec> inputs) {
  return std::ranges::any_of(inputs, [](const TensorSpec& spec) { return spec.shape.size() < 2; });
}

Finding failed_run(const ModelIndex& index, const std::string& error) {
  return make_finding("failed-run", subject_of_error(index, error),
                      {StatementKind::message, {error}});
}

// The finding if all generated inputs failed. The model is to blame only if the inputs were
// certainly valid.
Finding failure(const ModelIndex& index, std::span<const TensorSpec> inputs,
                std::span<const DynamicAxis> axes, const std::string& error) {
  if (error.empty()) return not_run({StatementKind::too_large_inputs});
  if (std::ranges::any_of(axes, [](const DynamicAxis& axis) { return !axis.is_batch; }))
    return not_run({StatementKind::no_size_runs, {error}});
  if (has_parameters(inputs)) return not_run({StatementKind::needs_values, {error}});
  return failed_run(index, error);
}

void run_given(const ModelIndex& index, const CheckOptions& options, Runs& runs) {
  const std::unique_ptr<Samples> samples = options.samples(index.model());
  const std::int64_t count = std::min(samples->size(), samples_drawn);
  for (std::int64_t i = 0; i < count; ++i) runs.samples.push_back(samples->sample(i));
  append(runs.findings, check_given_indices(runs, runs.samples.front()));
  Trial trial = try_run(*runs.runner, runs.samples.front());
  if (trial.outputs) {
    runs.outputs = std::move(*trial.outputs);
    return;
  }
  runs.samples.clear();
  if (trial.ended) return;
  runs.findings.push_back(failed_run(index, trial.error));
}

void run_generated(const ModelIndex& index, Runs& runs) {
  const std::vector<TensorSpec>& inputs = runs.runner->inputs();
  const std::vector<DynamicAxis> axes = dynamic_axes(inputs);
  std::string error;
  for (const auto& sizes : size_candidates(axes)) {
    const auto shapes = shapes_with(inputs, axes, sizes);
    if (!is_affordable(shapes)) continue;
    const std::vector<Tensor> first = draw_inputs(runs, inputs, shapes, 0);
    Trial trial = try_run(*runs.runner, first);
    if (error.empty()) error = trial.error;
    if (trial.ended && trial.ended != ProcessEnded::Cause::crashed) return;  // others need no less
    if (!trial.outputs) continue;
    runs.outputs = std::move(*trial.outputs);
    runs.samples.push_back(first);
    for (std::int64_t i = 1; i < samples_drawn; ++i)
      runs.samples.push_back(draw_inputs(runs, inputs, shapes, i));
    return;
  }
  runs.findings.push_back(failure(index, inputs, axes, error));
}

// Masks are ones; a number that the graph compares with constants is the last of these.
std::map<std::string, DrawRange> expected_ranges(const Model& model) {
  std::map<std::string, DrawRange> ranges;
  const std::vector<TensorSpec> inputs = model.inputs();
  const std::vector<InputKind> kinds = input_kinds(model);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputKind& kind = kinds[i];
    if (!is_integer(inputs[i].dtype)) continue;
    if (kind.role == InputRole::mask)
      ranges[inputs[i].name] = {1, 2};
    else if (kind.role == InputRole::choices && !kind.choices.empty())
      ranges[inputs[i].name] = {kind.choices.back(), kind.choices.back() + 1};
    else if (kind.role == InputRole::ids && kind.range)
      ranges[inputs[i].name] = {kind.range->low, kind.range->high + 1};
  }
  return ranges;
}

// Why no inputs can be generated; none if they can.
Statement obstacle(const Model& model) {
  for (const OtherValue& input : model.other_inputs())
    return {StatementKind::ungenerated_type, {input.name, input.type}};
  for (const TensorSpec& input : model.inputs())
    if (!input.ranked) return {StatementKind::undeclared_shape, {input.name}};
  return {};
}

// Outputs of the run whose shape is not the declared one.
Findings other_output_shapes(const Model& model, std::span<const Tensor> outputs) {
  Findings findings;
  for (const TensorSpec& declared : model.outputs()) {
    const auto found = std::ranges::find(outputs, declared.name, &Tensor::name);
    if (found == outputs.end() || !declared.ranked || fits(found->shape, declared.shape)) continue;
    findings.push_back(
        make_finding("other-output-shape", {SubjectKind::tensor, declared.name},
                     {StatementKind::other_output_shape, {declared.shape, found->shape}}));
  }
  return findings;
}

// Runs the model again. If outputs differ, finds the first operator whose result differs.
Findings check_determinism(const ModelIndex& index, const Runs& runs, const CheckOptions& options) {
  const Trial again = try_run(*runs.runner, runs.samples.front());
  if (again.ended || again.outputs == runs.outputs) return {};
  if (!again.outputs)
    return {make_finding("nondeterministic", subject_of_error(index, again.error),
                         {StatementKind::second_run_failed, {again.error}})};
  std::string output;
  for (std::size_t i = 0; i < runs.outputs.size() && output.empty(); ++i)
    if ((*again.outputs)[i] != runs.outputs[i]) output = runs.outputs[i].name;
  const std::string tensor = first_difference(index, runs, options);
  const FoundTensor* writer = index.tensor(tensor);
  if (!writer)
    return {make_finding("nondeterministic", {SubjectKind::tensor, output},
                         {StatementKind::output_varies, {output}})};
  return {make_finding("nondeterministic", node_subject(*writer->graph, *writer->node),
                       {StatementKind::tensor_varies, {output, tensor, writer->node->op_type()}})};
}

}  // namespace

Subject node_subject(const GraphIndex& graph, const NodeProto& node) {
  return {SubjectKind::node, in_subgraph(graph, node_label(node))};
}

Subject tensor_subject(const GraphIndex& graph, const std::string& tensor) {
  return {SubjectKind::tensor, in_subgraph(graph, tensor)};
}

Trial try_run(Runner& runner, std::span<const Tensor> inputs) {
  try {
    return {runner.run(inputs), ""};
  } catch (const ProcessEnded& ended) {
    return {std::nullopt, bare_message(ended.what()), ended.cause()};
  } catch (const Error& error) {
    return {std::nullopt, bare_message(error.what())};
  }
}

std::unique_ptr<Runner> open_trial(Model model, const OrtOptions& runtime,
                                   const CheckOptions& options) {
  if (!options.isolated) return std::make_unique<OrtRunner>(std::move(model), runtime);
  const auto shared = std::make_shared<const Model>(std::move(model));
  return open_isolated(
      [shared, runtime] { return std::make_unique<OrtRunner>(shared->clone(), runtime); },
      {.timeout_seconds = options.trial_seconds, .ended = options.process_ended});
}

std::unique_ptr<Runner> open_as_written(const Model& model, const CheckOptions& options) {
  OrtOptions runtime = options.runtime;
  runtime.optimization = Optimization::disabled;
  for (const Watch& watch : {Watch::all(), Watch::none()}) {
    runtime.watch = watch;
    try {
      return open_trial(model.clone(), runtime, options);
    } catch (const Error&) {
      continue;
    }
  }
  return nullptr;
}

FoundNode find_failed_node(const ModelIndex& index, const std::string& message) {
  if (const FoundNode* found = index.node(named_node(message))) return *found;
  static const std::regex unnamed(R"(node '' \((\w+)\))");
  std::smatch match;
  if (!std::regex_search(message, match, unnamed)) return {};
  FoundNode only;
  for (const GraphIndex& graph : index.graphs())
    for (const auto& node : graph.graph().node())
      if (node.op_type() == match[1].str()) {
        if (only.node) return {};
        only = {&graph, &node};
      }
  return only;
}

Finding ended_run(const ModelIndex& index, const ProcessEnded& ended) {
  const std::string message = bare_message(ended.what());
  if (ended.cause() == ProcessEnded::Cause::out_of_memory)
    return not_run({StatementKind::message, {message}});
  return make_finding("crashed-run", subject_of_error(index, message),
                      {StatementKind::message, {message.substr(0, message.rfind("; "))}});
}

Subject subject_of_error(const ModelIndex& index, const std::string& message) {
  const std::string name = named_node(message);
  if (const FoundNode found = find_failed_node(index, message); found.node)
    return node_subject(*found.graph, *found.node);
  return name.empty() ? Subject{} : Subject{SubjectKind::node, name};
}

std::vector<Tensor> draw_inputs(const Runs& runs, std::span<const TensorSpec> inputs,
                                const std::map<std::string, Shape>& shapes, std::int64_t sample) {
  RandomOptions options{.shapes = shapes, .ranges = runs.ranges, .index_lengths = runs.lengths};
  const std::vector<InputDraw> draws = plan_draws(inputs, options);
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < draws.size(); ++i)
    tensors.push_back(draw(draws[i], {.sample = sample, .input = static_cast<std::int64_t>(i)}));
  return tensors;
}

Runs check_runs(const ModelIndex& index, const CheckOptions& options) {
  Runs runs;
  const Statement why_not = obstacle(index.model());
  if (!index.model().other_inputs().empty()) {
    runs.findings.push_back(not_run(why_not));
    return runs;
  }
  try {
    runs.runner = open_trial(index.model().clone(), options.runtime, options);
  } catch (const ProcessEnded&) {
    return runs;  // options.process_ended adds the finding
  } catch (const Error& error) {
    runs.findings = refusal(index, error);
    return runs;
  }
  runs.lengths = index_lengths(index.model());
  runs.ranges = expected_ranges(index.model());
  if (options.samples)
    run_given(index, options, runs);
  else if (why_not.kind != StatementKind::none)
    runs.findings.push_back(not_run(why_not));
  else
    run_generated(index, runs);
  if (!runs.ran()) return runs;
  Findings differences = check_determinism(index, runs, options);
  runs.deterministic = differences.empty();
  append(runs.findings, other_output_shapes(index.model(), runs.outputs));
  append(runs.findings, std::move(differences));
  return runs;
}

}  // namespace vernier
