#include "vernier/analysis/layers/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "vernier/analysis/layers/stored_weights.h"
#include "vernier/error.h"
#include "vernier/model/edit.h"
#include "vernier/runtime/executed_graph.h"
#include "vernier/runtime/open_runner.h"

namespace vernier {
namespace {

// Only an ONNX model's outputs are among the tensors that it shows.
std::vector<Layer> layers_of(const Runner& runner, ModelFormat format) {
  const auto is_output = [&](const std::string& name) {
    return format == ModelFormat::onnx &&
           std::ranges::find(runner.outputs(), name, &TensorSpec::name) != runner.outputs().end();
  };
  std::vector<Layer> layers;
  for (const WatchedTensor& tensor : runner.watched())
    layers.push_back(
        {.name = tensor.name, .type = tensor.type, .is_output = is_output(tensor.name)});
  return layers;
}

// Weights that a node only hands on, as exporters share them, are no layers.
Watch layers_to_watch(const Model& model) {
  if (runs_another_graph(model)) return Watch::all();
  const StoredWeights weights(model);
  std::vector<std::string> names = tensor_names(model);
  std::erase_if(names, [&](const std::string& name) { return weights.find(name) != nullptr; });
  return Watch::only(std::move(names));
}

RunnerOptions watching(const LayersOptions& options) {
  RunnerOptions runner;
  runner.onnx = {.watch = Watch::all(), .threads = options.runtime.threads, .models_at_once = 2};
  if (model_format(options.reference) == ModelFormat::onnx)
    runner.onnx.watch = layers_to_watch(Model::load(options.reference));
  runner.torch = {.watch_leaves = true, .threads = threads_of_each(options.runtime.threads, 2)};
  return runner;
}

std::unique_ptr<Runner> open_truth(const LayersOptions& options) {
  if (model_format(options.reference) != ModelFormat::torchscript)
    throw Error(
        fmt::format("[layers] {}: only a TorchScript reference can be run in float64; "
                    "leave --truth out",
                    options.reference.string()));
  RunnerOptions runner = watching(options);
  runner.torch.precision = DType::f64;
  return open_runner(options.reference, runner);
}

// One warning for each reason.
std::vector<std::string> unwatched_warnings(const std::vector<UnwatchedTensor>& unwatched) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const UnwatchedTensor& leaf : unwatched) by_reason[leaf.reason].push_back(leaf.name);
  std::vector<std::string> warnings;
  for (const auto& [reason, names] : by_reason) warnings.push_back(not_compared(reason, names));
  return warnings;
}

}  // namespace

std::string not_compared(std::string_view reason, std::span<const std::string> layers) {
  constexpr std::size_t named = 5;
  const std::size_t count = std::min(named, layers.size());
  std::string text =
      fmt::format("not compared, {}: {}", reason, fmt::join(layers.first(count), ", "));
  if (count < layers.size()) text += fmt::format(" and {} more", layers.size() - count);
  return text;
}

LayersReference open_layers_reference(const LayersOptions& options) {
  LayersReference reference;
  if (options.truth) reference.truth = open_truth(options);
  reference.runner = open_runner(options.reference, watching(options));
  const ModelFormat format = model_format(options.reference);
  reference.layers = layers_of(*reference.runner, format);
  reference.is_recorded = format == ModelFormat::recorded;
  reference.warnings = reference.runner->warnings();
  if (format == ModelFormat::torchscript)
    for (std::string& warning : unwatched_warnings(reference.runner->unwatched()))
      reference.warnings.push_back(std::move(warning));
  if (reference.layers.empty())
    throw Error(
        fmt::format("[layers] {}: it has no layer to compare; trace the model from its "
                    "modules, or pass another --reference",
                    options.reference.string()));
  return reference;
}

}  // namespace vernier
