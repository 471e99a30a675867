#include "vernier/runtime/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <unordered_set>

#include "vernier/error.h"
#include "vernier/model/edit.h"
#include "vernier/model/index.h"
#include "vernier/runtime/executed_graph.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/name_pattern.h"

namespace vernier {
namespace {

// With more outputs the provider compiles other parts, which round differently.
constexpr double explained_by_rounding_db = 60;

double sqnr_db(const Tensor& reference, const Tensor& candidate) {
  if (reference.bytes == candidate.bytes) return INFINITY;
  if (reference.shape != candidate.shape || reference.dtype != candidate.dtype) return -INFINITY;
  const std::vector<double> expected = to_f64(reference), found = to_f64(candidate);
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == found[i] && std::isinf(expected[i])) continue;
    if (std::isnan(expected[i]) && std::isnan(found[i])) continue;
    signal += expected[i] * expected[i];
    noise += (expected[i] - found[i]) * (expected[i] - found[i]);
  }
  return noise == 0 ? INFINITY : 10 * std::log10(signal / noise);
}

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

}  // namespace

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

Probes expose_watched(Model& model, const Watch& watch) {
  Probes probes;
  const GraphIndex main(model.graph());
  for (const std::string& name : tensor_names(model)) {
    if (!is_watched(watch, name)) continue;
    if (main.defines(name))
      probes.watched.push_back(name);
    else
      probes.unwatched.push_back(
          {name, "inside a subgraph, which the execution provider runs whole"});
  }
  require_known(model, watch, probes);
  expose_outputs(model, probes.watched);
  return probes;
}

void require_unchanged(const std::string& model, const std::string& provider,
                       std::span<const Tensor> unwatched, std::span<const Tensor> watched) {
  for (std::size_t i = 0; i < unwatched.size(); ++i) {
    const double db = sqnr_db(unwatched[i], watched[i]);
    if (!(db >= explained_by_rounding_db))
      throw Error(fmt::format(
          "[onnxruntime] {}: output '{}' is another one while tensors are watched ({:.1f} dB): the "
          "execution provider '{}' compiles the graph otherwise then; watch fewer tensors, or "
          "compare the outputs with vernier eval",
          model, unwatched[i].name, db, provider));
  }
}

}  // namespace vernier
