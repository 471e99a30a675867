#include "vernier/runtime/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <unordered_set>

#include "vernier/error.h"
#include "vernier/model/edit.h"
#include "vernier/runtime/executed_graph.h"
#include "vernier/tensor/name_pattern.h"

namespace vernier {
namespace {

using Names = std::unordered_set<std::string>;

Names known_names(const Probes& probes) {
  Names names(probes.watched.begin(), probes.watched.end());
  for (const auto& tensor : probes.unwatched) names.insert(tensor.name);
  return names;
}

// Lists wanted tensors of the model that are missing in the executed graph as unwatched.
void add_missing(Probes& probes, const std::vector<std::string>& wanted, Optimization level) {
  const Names known = known_names(probes);
  for (const auto& name : wanted)
    if (!known.contains(name))
      probes.unwatched.push_back({name, level == Optimization::disabled
                                            ? "not computed by ONNX Runtime under this name"
                                            : "fused or removed by optimisation"});
}

}  // namespace

bool is_watched(const Watch& watch, const std::string& tensor) {
  const auto matches = [&](const std::string& pattern) {
    return watch.what == Watch::What::glob ? matches_name(pattern, tensor) : pattern == tensor;
  };
  return watch.what == Watch::What::all || std::ranges::any_of(watch.names, matches);
}

void require_known(const Model& model, const Watch& watch, const Probes& probes) {
  if (watch.what != Watch::What::names) return;
  const Names known = known_names(probes);
  for (const auto& name : watch.names)
    if (!known.contains(name))
      throw Error(
          fmt::format("[onnxruntime] {}: no node writes a tensor '{}'; `vernier inspect "
                      "--tensors` lists those that are written",
                      model.name(), name));
}

Probes watch(Model& model, const OrtOptions& options, Optimization level) {
  std::vector<std::string> wanted = tensor_names(model);
  std::erase_if(wanted, [&](const auto& name) { return !is_watched(options.watch, name); });
  // ONNX Runtime can write the executed graph as a model only for the CPU provider.
  const bool another =
      level != Optimization::disabled || (is_cpu(options.provider) && runs_another_graph(model));
  if (another) model = executed_graph(model, options, level);
  Probes probes = insert_probes(
      model,
      [&](const std::string& name) {
        return is_watched(options.watch, name) && !is_float32_counterpart(name);
      },
      another ? QuantizerProbes::separate : QuantizerProbes::paired);
  if (another) add_missing(probes, wanted, level);
  require_known(model, options.watch, probes);
  return probes;
}

std::optional<UnwatchedTensor> refused_probe(const std::string& message) {
  static const std::regex pattern(
      fmt::format(R"(.*Type '([^']*)' of input parameter \({}(.*)\) of operator \(\w*{}\).*)",
                  probed_prefix, probe_op));
  std::smatch match;
  if (!std::regex_match(message, match, pattern)) return std::nullopt;
  return UnwatchedTensor{match[2], fmt::format("of type {}", match[1].str())};
}

}  // namespace vernier
