#include "vernier/analysis/inspect.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "vernier/model/graph.h"

namespace vernier {
namespace {

using OperatorNames = std::unordered_map<std::string, std::string>;

std::vector<WeightTotal> parameter_totals(const Runner& runner) {
  std::vector<WeightTotal> totals;
  for (const TensorSpec& parameter : runner.parameters()) {
    const std::string dtype(dtype_name(parameter.dtype));
    auto total = std::ranges::find(totals, dtype, &WeightTotal::dtype);
    if (total == totals.end()) total = totals.insert(total, {.dtype = dtype});
    std::int64_t elements = 1;
    for (const Dim& dim : parameter.shape) elements *= dim.size;
    ++total->tensors;
    total->elements += elements;
    total->bytes += byte_size(parameter.dtype, elements);
  }
  std::ranges::stable_sort(totals, std::greater{}, &WeightTotal::bytes);
  return totals;
}

Inspection inspect_torch(ModelFormat format, const Runner& runner) {
  return {.format = format,
          .inputs = runner.inputs(),
          .outputs = runner.outputs(),
          .weights = parameter_totals(runner),
          .leaves = runner.watched(),
          .unwatched_leaves = runner.unwatched(),
          .warnings = runner.warnings()};
}

Inspection inspect_recorded(const std::filesystem::path& path) {
  const RecordedRunner runner(path);
  return {.format = ModelFormat::recorded,
          .outputs = runner.outputs(),
          .recorded_samples = runner.size()};
}

// The operator that writes each tensor, by plain name and by name with the subgraph's path.
OperatorNames onnx_operators(const Model& model) {
  OperatorNames operators;
  for (const Subgraph& subgraph : all_subgraphs(model.graph()))
    for (const auto& node : subgraph.graph->node())
      for (const std::string& output : node.output()) {
        operators.emplace(output, node.op_type());
        if (!subgraph.path.empty()) operators.emplace(subgraph.path + "/" + output, node.op_type());
      }
  return operators;
}

OperatorNames operators_of(const Runner& runner, const Model* onnx) {
  if (onnx) return onnx_operators(*onnx);
  OperatorNames operators;
  for (const WatchedTensor& leaf : runner.watched()) operators.emplace(leaf.name, leaf.type);
  return operators;
}

}  // namespace

Inspection inspect(const ModelIndex& index) {
  const Model& model = index.model();
  Inspection inspection{.format = ModelFormat::onnx,
                        .inputs = model.inputs(),
                        .outputs = model.outputs(),
                        .other_inputs = model.other_inputs(),
                        .other_outputs = model.other_outputs(),
                        .onnx = summarize(index)};
  inspection.weights = inspection.onnx->weights;
  return inspection;
}

Inspection inspect(const std::filesystem::path& path, const HostOptions& host) {
  const ModelFormat format = model_format(path);
  RunnerOptions watching{.torch = {.watch_leaves = true}, .host = host};
  if (host.watch == HostWatch::nothing) watching.host.watch = HostWatch::layers;
  switch (format) {
    case ModelFormat::onnx: return inspect(ModelIndex(Model::load(path)));
    case ModelFormat::torchscript:
    case ModelFormat::hosted: return inspect_torch(format, *open_runner(path, watching));
    case ModelFormat::recorded: break;
  }
  return inspect_recorded(path);
}

LiveTensors watch_tensors(Runner& runner, std::span<const Tensor> inputs, const Model* onnx) {
  const OperatorNames operators = operators_of(runner, onnx);
  LiveTensors live;
  std::unordered_set<std::string> seen;
  const auto add = [&](const TensorView& tensor) {
    const std::string name(tensor.name);
    const auto op = operators.find(name);
    const TensorStatistics statistics = tensor_statistics(tensor);
    const int index = static_cast<int>(live.tensors.size());
    if (live.first_nan < 0 && statistics.nan > 0) live.first_nan = index;
    if (live.first_inf < 0 && statistics.inf() > 0) live.first_inf = index;
    seen.insert(name);
    live.tensors.push_back({.name = name,
                            .op = op == operators.end() ? "" : op->second,
                            .dtype = tensor.dtype,
                            .shape = {tensor.shape.begin(), tensor.shape.end()},
                            .statistics = statistics});
  };
  for (const Tensor& input : inputs) add(input);
  for (const Tensor& output : runner.run(inputs, add))
    if (!seen.contains(output.name)) add(output);
  live.unwatched = runner.unwatched();
  return live;
}

}  // namespace vernier
