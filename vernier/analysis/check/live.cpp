#include "vernier/analysis/check/live.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>

#include "vernier/error.h"
#include "vernier/metrics/tensor_statistics.h"
#include "vernier/model/edit.h"

namespace vernier {
namespace {

struct Sighting {
  std::string tensor;
  std::string what;  // "NaN" or "infinity"
};

struct Watching {
  Live live;
  std::optional<Sighting> first_nan, first_inf;

  void add(const TensorView& tensor) {
    const std::string name(tensor.name);
    live.shapes[name] = Shape(tensor.shape.begin(), tensor.shape.end());
    if (!is_float(tensor.dtype)) return;
    const TensorStatistics statistics = tensor_statistics(tensor);
    if (statistics.nan > 0 && !first_nan) first_nan = {name, "NaN"};
    if (statistics.inf() > 0 && !first_inf) first_inf = {name, "infinity"};
  }
};

bool has_nonfinite(const Tensor& tensor) {
  return is_float(tensor.dtype) && tensor_statistics(tensor).finite() < tensor.size();
}

// Infinity inside is common (masks); in an output it is not, nor is NaN anywhere.
Findings judge(const Graphs& graphs, const Runs& runs, const Watching& seen) {
  const auto output = std::ranges::find_if(runs.outputs, has_nonfinite);
  const bool reaches_output = output != runs.outputs.end();
  std::optional<Sighting> origin = seen.first_nan;
  if (reaches_output && !origin) origin = seen.first_inf;
  if (!origin && reaches_output) origin = Sighting{output->name, "NaN or infinity"};
  if (!origin) return {};
  const auto writer = find_writer(graphs, origin->tensor);
  std::string evidence = fmt::format("{} first appears in '{}'", origin->what, origin->tensor);
  if (writer) evidence += fmt::format(", written by {}", writer->node->op_type());
  evidence += reaches_output ? fmt::format(", and output '{}' holds it", output->name)
                             : ", and no output holds it";
  Finding finding = make_finding("nonfinite-value",
                                 writer ? node_subject(*writer->subgraph, *writer->node)
                                        : Subject{SubjectKind::tensor, origin->tensor},
                                 evidence);
  if (!reaches_output) finding.severity = Severity::warning;
  return {finding};
}

}  // namespace

std::unique_ptr<OrtRunner> open_watched(const Model& model, const OrtOptions& options) {
  OrtOptions watched = options;
  watched.watch = Watch::all();
  try {
    return std::make_unique<OrtRunner>(model.clone(), watched);
  } catch (const Error&) {
    return nullptr;
  }
}

std::optional<FoundNode> find_writer(const Graphs& graphs, const std::string& tensor) {
  const TensorLabels label(graphs.model.graph());
  for (const Body& subgraph : graphs.subgraphs)
    for (const auto& node : subgraph.graph->node())
      for (const std::string& output : node.output())
        if (!output.empty() && label(subgraph.path, output) == tensor)
          return FoundNode{&subgraph, &node};
  return std::nullopt;
}

Live check_live(const Graphs& graphs, const Runs& runs, const CheckOptions& options) {
  Watching seen;
  for (const Tensor& input : runs.samples.front()) seen.add(input);
  if (const auto watched = open_watched(graphs.model, options.runtime)) {
    try {
      watched->run(runs.samples.front(), [&](const TensorView& tensor) { seen.add(tensor); });
    } catch (const Error&) {
      // What was seen before the run broke off still counts.
    }
  }
  seen.live.findings = judge(graphs, runs, seen);
  return std::move(seen.live);
}

}  // namespace vernier
