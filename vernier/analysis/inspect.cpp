#include "vernier/analysis/inspect.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "vernier/error.h"
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

class TensorWatcher {
 public:
  explicit TensorWatcher(OperatorNames operators) : operators_(std::move(operators)) {}

  void add(const TensorView& tensor) {
    const auto found = operators_.find(std::string(tensor.name));
    LiveTensor live{.name = std::string(tensor.name),
                    .op = found == operators_.end() ? "" : found->second,
                    .dtype = tensor.dtype,
                    .shape = {tensor.shape.begin(), tensor.shape.end()},
                    .statistics = tensor_statistics(tensor)};
    const int index = static_cast<int>(live_.tensors.size());
    if (live_.first_nan < 0 && live.statistics.nan > 0) live_.first_nan = index;
    if (live_.first_inf < 0 && live.statistics.inf() > 0) live_.first_inf = index;
    seen_.insert(live.name);
    live_.tensors.push_back(std::move(live));
  }
  bool has(const std::string& name) const { return seen_.contains(name); }
  LiveTensors result() && { return std::move(live_); }

 private:
  OperatorNames operators_;
  std::unordered_set<std::string> seen_;
  LiveTensors live_;
};

}  // namespace

Inspection inspect(const Model& model) {
  Inspection inspection{.format = ModelFormat::onnx,
                        .inputs = model.inputs(),
                        .outputs = model.outputs(),
                        .other_inputs = model.other_inputs(),
                        .other_outputs = model.other_outputs(),
                        .onnx = summarize(model)};
  inspection.weights = inspection.onnx->weights;
  return inspection;
}

Inspection inspect(const std::filesystem::path& path, const HostOptions& host) {
  const ModelFormat format = model_format(path);
  RunnerOptions watching{.torch = {.watch_leaves = true}, .host = host};
  if (host.watch == HostWatch::nothing) watching.host.watch = HostWatch::layers;
  switch (format) {
    case ModelFormat::onnx: return inspect(Model::load(path));
    case ModelFormat::torchscript:
    case ModelFormat::hosted: return inspect_torch(format, *open_runner(path, watching));
    case ModelFormat::recorded: break;
  }
  return inspect_recorded(path);
}

LiveTensors watch_tensors(Runner& runner, std::span<const Tensor> inputs, const Model* onnx) {
  TensorWatcher watcher(operators_of(runner, onnx));
  for (const Tensor& input : inputs) watcher.add(input);
  const std::vector<Tensor> outputs =
      runner.run(inputs, [&](const TensorView& tensor) { watcher.add(tensor); });
  for (const Tensor& output : outputs)
    if (!watcher.has(output.name)) watcher.add(output);
  LiveTensors live = std::move(watcher).result();
  live.unwatched = runner.unwatched();
  return live;
}

}  // namespace vernier
