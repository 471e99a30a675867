#include "vernier/runtime/watched_outputs.h"

#include <fmt/format.h>

#include <cmath>

#include "vernier/error.h"
#include "vernier/model/edit.h"
#include "vernier/model/index.h"
#include "vernier/runtime/watch.h"
#include "vernier/tensor/convert.h"

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

}  // namespace

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
