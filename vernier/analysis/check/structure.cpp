#include "vernier/analysis/check/groups.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <string_view>
#include <unordered_set>

#include "vernier/analysis/check/operators.h"
#include "vernier/error.h"
#include "vernier/model/edit.h"
#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

bool leaves_the_folder(const std::string& location) {
  const std::filesystem::path path(location);
  if (path.is_absolute()) return true;
  for (const auto& part : path)
    if (part == "..") return true;
  return false;
}

// A defect of a weight's external data.
struct BadData {
  std::string_view id;
  Statement evidence;
};

std::optional<BadData> check_external(const Model& model, const TensorProto& weight) {
  try {
    if (!has_external_data(weight) || model.is_inside(weight)) return std::nullopt;
    const ExternalData data = external_data(weight);
    if (leaves_the_folder(data.location))
      return BadData{"escaping-external-data", {StatementKind::data_elsewhere, {data.location}}};
    const auto file = resolve_external(model.folder(), data.location);
    const auto size = static_cast<std::int64_t>(std::filesystem::file_size(file));
    const std::int64_t needed = weight_bytes(weight);
    if (data.offset <= size && needed <= size - data.offset) return std::nullopt;
    return BadData{"missing-external-data",
                   {StatementKind::short_data, {needed, data.offset, data.location, size}}};
  } catch (const Error& error) {
    const std::string message = error.what();
    const bool escapes = message.find("leaves it") != std::string::npos;
    return BadData{escapes ? "escaping-external-data" : "missing-external-data",
                   {StatementKind::message, {message.substr(message.find(']') + 2)}}};
  }
}

constexpr std::int64_t oldest_good_opset = 13;
constexpr std::int64_t duplicate_bytes = 4096;
constexpr std::int64_t constant_bytes = 1024;

Findings check_versions(const Model& model) {
  Findings findings;
  const std::int64_t opset = model.opset();
  if (opset > 0 && opset < oldest_good_opset)
    findings.push_back(make_finding("old-opset", {}, {StatementKind::old_opset, {opset}}));
  const std::int64_t needed = ir_version_of(opset);
  const std::int64_t found = model.proto().ir_version();
  if (opset > 0 && opset <= newest_known_opset && found < needed)
    findings.push_back(make_finding("old-ir-version", {},
                                    {StatementKind::old_ir_version, {opset, needed, found}}));
  return findings;
}

bool is_read(const GraphIndex& graph, const std::string& tensor) {
  return !graph.consumers(tensor).empty() || graph.is_output(tensor);
}

Findings unused_initializers(const GraphIndex& graph) {
  Findings findings;
  for (const TensorProto& weight : graph.graph().initializer()) {
    if (is_read(graph, weight.name())) continue;
    const std::int64_t bytes = weight_bytes(weight);
    Finding finding = make_finding("unused-initializer", tensor_subject(graph, weight.name()),
                                   {StatementKind::unread_weight, {bytes}});
    if (bytes < constant_bytes) finding.severity = Severity::note;  // probably a leftover
    findings.push_back(std::move(finding));
  }
  return findings;
}

// From IR version 4 on, an initializer that is also an input is a default that callers may replace.
Findings replaceable_initializers(const ModelIndex& index) {
  Findings findings;
  if (index.model().proto().ir_version() < 4) return findings;
  for (const TensorProto& weight : index.model().graph().initializer())
    if (index.main().is_input(weight.name()))
      findings.push_back(make_finding("initializer-as-input",
                                      tensor_subject(index.main(), weight.name()),
                                      {StatementKind::weight_as_input, {weight_bytes(weight)}}));
  return findings;
}

// Nodes that no output depends on, in whatever order the nodes are.
Findings unused_nodes(const GraphIndex& graph) {
  std::unordered_set<const NodeProto*> used;
  std::vector<std::string> needed;
  for (const auto& output : graph.graph().output()) needed.push_back(output.name());
  while (!needed.empty()) {
    const NodeProto* writer = graph.producer(needed.back());
    needed.pop_back();
    if (!writer || !used.insert(writer).second) continue;
    needed.insert(needed.end(), writer->input().begin(), writer->input().end());
    for (std::string& name : captured_names(*writer)) needed.push_back(std::move(name));
  }
  Findings findings;
  for (const NodeProto& node : graph.graph().node()) {
    if (used.contains(&node)) continue;
    findings.push_back(make_finding("unused-node", node_subject(graph, node),
                                    {StatementKind::unused_node, {node.op_type()}}));
    if (is_op(node, "Constant")) findings.back().severity = Severity::note;
  }
  return findings;
}

// The first node that reads the output of a later node.
Findings unsorted_nodes(const GraphIndex& graph) {
  std::unordered_set<const NodeProto*> before;
  for (const NodeProto& node : graph.graph().node()) {
    std::vector<std::string> read(node.input().begin(), node.input().end());
    std::ranges::move(captured_names(node), std::back_inserter(read));
    for (const std::string& name : read)
      if (const NodeProto* writer = graph.producer(name); writer && !before.contains(writer))
        return {make_finding("unsorted-nodes", node_subject(graph, node),
                             {StatementKind::unsorted_node, {name}})};
    before.insert(&node);
  }
  return {};
}

// Names that are stored more than once; which one is used depends on the runtime.
Findings repeated_initializers(const GraphIndex& graph) {
  Findings findings;
  std::unordered_set<std::string_view> names;
  for (const auto& weight : graph.graph().initializer())
    if (!names.insert(weight.name()).second)
      findings.push_back(make_finding("repeated-initializer", tensor_subject(graph, weight.name()),
                                      {StatementKind::repeated_name}));
  return findings;
}

Findings unused_inputs(const GraphIndex& graph) {
  Findings findings;
  for (const auto& input : graph.graph().input())
    if (!graph.initializer(input.name()) && graph.consumers(input.name()).empty() &&
        !graph.is_output(input.name()))
      findings.push_back(make_finding("unused-input", tensor_subject(graph, input.name()),
                                      {StatementKind::unread_input}));
  return findings;
}

Findings identity_chains(const GraphIndex& graph) {
  Findings findings;
  for (const NodeProto& node : graph.graph().node()) {
    if (!is_op(node, "Identity") || node.input_size() == 0) continue;
    const NodeProto* before = graph.producer(node.input(0));
    if (before && is_op(*before, "Identity"))
      findings.push_back(make_finding("identity-chain", node_subject(graph, node),
                                      {StatementKind::reads_identity, {node_label(*before)}}));
  }
  return findings;
}

Findings constant_nodes(const GraphIndex& graph) {
  Findings findings;
  for (const NodeProto& node : graph.graph().node()) {
    if (!is_op(node, "Constant")) continue;
    const auto* value = attribute(node, "value");
    const std::int64_t bytes = value ? weight_bytes(value->t()) : 0;
    if (bytes >= constant_bytes)
      findings.push_back(make_finding("constant-node", node_subject(graph, node),
                                      {StatementKind::constant_bytes, {bytes}}));
  }
  return findings;
}

// Weights with the same bytes as an earlier one, grouped by that one.
Findings duplicate_initializers(const ModelIndex& index) {
  std::map<const Weight*, std::vector<std::string>> copies;
  for (const Weight& weight : index.weights()) {
    if (weight.graph->initializer(weight.name) != weight.proto) continue;
    if (weight_bytes(*weight.proto) < duplicate_bytes) continue;
    try {
      const Weight* first = index.weight_with(index.model().view(*weight.proto));
      if (first && first != &weight) copies[first].push_back(weight.name);
    } catch (const Error&) {
      continue;  // reported by check_files()
    }
  }
  Findings findings;
  for (const auto& [first, names] : copies)
    findings.push_back(make_finding(
        "duplicate-initializer", tensor_subject(*first->graph, first->name),
        {StatementKind::duplicates, {weight_bytes(*first->proto) * std::ssize(names), names}}));
  return findings;
}

std::vector<std::string> without_shape(const GraphIndex& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.graph().node())
    for (const std::string& output : node.output())
      if (!output.empty() && !is_op(node, "Constant") && !graph.declared_shape(output))
        names.push_back(output);
  return names;
}

// The shapes that ONNX Runtime infers for the tensors. It reports shapes of outputs only, so the
// tensors are made outputs. An empty shape is skipped, since it may mean unknown.
std::vector<TensorSpec> inferred_shapes(const ModelIndex& index, std::vector<std::string> tensors,
                                        const CheckOptions& options) {
  Model exposed = index.model().clone();
  std::erase_if(tensors, [&](const auto& name) { return index.main().is_output(name); });
  try {
    expose_outputs(exposed, tensors);
    const auto runner =
        open_trial(std::move(exposed), {.optimization = Optimization::disabled}, options);
    std::vector<TensorSpec> found;
    for (const TensorSpec& spec : runner->outputs())
      if (!spec.shape.empty() && std::ranges::find(tensors, spec.name) != tensors.end())
        found.push_back(spec);
    return found;
  } catch (const Error&) {
    return {};  // a refused model is reported elsewhere
  }
}

}  // namespace

// A missing file is one finding, however many weights it should hold.
Findings check_files(const ModelIndex& index) {
  Findings findings;
  std::vector<std::int64_t> weights;  // that share the evidence, for each finding
  for (const Weight& weight : index.weights())
    if (auto bad = check_external(index.model(), *weight.proto)) {
      const auto same = std::ranges::find(findings, bad->evidence, &Finding::evidence);
      if (same != findings.end()) {
        ++weights[same - findings.begin()];
        continue;
      }
      findings.push_back(make_finding(bad->id, tensor_subject(*weight.graph, weight.name),
                                      std::move(bad->evidence)));
      weights.push_back(1);
    }
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (weights[i] > 1)
      findings[i].evidence = {StatementKind::needed_by, {findings[i].evidence, weights[i]}};
  const std::filesystem::path& path = index.model().path();
  if (auto finding = path.empty() ? std::nullopt : check_file_size(path))
    findings.push_back(*std::move(finding));
  return findings;
}

std::optional<Finding> check_file_size(const std::filesystem::path& path) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path));
  if (size <= most) return std::nullopt;
  return make_finding("oversized-file", {}, {StatementKind::oversized_file, {size, most}});
}

Findings check_structure(const ModelIndex& index) {
  Findings findings = check_versions(index.model());
  for (const GraphIndex& graph : index.graphs()) {
    append(findings, unused_initializers(graph));
    append(findings, repeated_initializers(graph));
    append(findings, unused_nodes(graph));
    append(findings, unsorted_nodes(graph));
    append(findings, identity_chains(graph));
    append(findings, constant_nodes(graph));
  }
  append(findings, unused_inputs(index.main()));
  append(findings, replaceable_initializers(index));
  append(findings, duplicate_initializers(index));
  return findings;
}

Findings check_shapes(const ModelIndex& index, const CheckOptions& options) {
  const GraphIndex& graph = index.main();
  const std::vector<std::string> missing = without_shape(graph);
  if (missing.empty()) return {};
  const std::vector<TensorSpec> inferred = inferred_shapes(index, missing, options);
  if (inferred.empty()) return {};
  Statement evidence{StatementKind::missing_shape};
  if (inferred.size() > 1) evidence = {StatementKind::missing_shapes, {std::ssize(inferred)}};
  return {make_finding("missing-shapes", tensor_subject(graph, inferred.front().name),
                       std::move(evidence))};
}

}  // namespace vernier
