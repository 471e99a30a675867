#include "vernier/analysis/check/nondeterminism.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <string_view>

#include "vernier/analysis/check/live.h"
#include "vernier/analysis/check/trial.h"
#include "vernier/error.h"

namespace vernier {
namespace {

struct Produced {
  std::string tensor;
  std::size_t hash = 0;
};

std::vector<Produced> fingerprints(OrtRunner& watched, std::span<const Tensor> inputs) {
  std::vector<Produced> produced;
  watched.run(inputs, [&](const TensorView& tensor) {
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.bytes.data()),
                                 tensor.bytes.size());
    produced.push_back({std::string(tensor.name), std::hash<std::string_view>{}(bytes)});
  });
  return produced;
}

// The first tensor that two watched runs give otherwise; empty when watching makes them agree.
std::string first_difference(const Graphs& graphs, const Runs& runs, const CheckOptions& options) {
  const std::unique_ptr<OrtRunner> watched = open_watched(graphs.model, options.runtime);
  if (!watched) return "";
  const auto first = fingerprints(*watched, runs.samples.front());
  const auto second = fingerprints(*watched, runs.samples.front());
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i)
    if (first[i].hash != second[i].hash) return first[i].tensor;
  return "";
}

}  // namespace

Findings check_determinism(const Graphs& graphs, const Runs& runs, const CheckOptions& options) {
  const Trial again = try_run(*runs.runner, runs.samples.front());
  if (again.outputs == runs.outputs) return {};
  if (!again.outputs)
    return {make_finding("nondeterministic", subject_of_error(graphs, again.error),
                         "a second run fails: " + again.error)};
  std::string output;
  for (std::size_t i = 0; i < runs.outputs.size() && output.empty(); ++i)
    if ((*again.outputs)[i] != runs.outputs[i]) output = runs.outputs[i].name;
  const std::string tensor = first_difference(graphs, runs, options);
  const auto writer = find_writer(graphs, tensor);
  if (!writer)
    return {make_finding("nondeterministic", {SubjectKind::tensor, output},
                         fmt::format("output '{}' differs between two runs", output))};
  return {make_finding("nondeterministic", node_subject(*writer->subgraph, *writer->node),
                       fmt::format("output '{}' differs between two runs, and '{}' is the first "
                                   "tensor that does, written by {}",
                                   output, tensor, writer->node->op_type()))};
}

}  // namespace vernier
