#include "vernier/analysis/layers/layers.h"

#include <fmt/format.h>

#include <set>

#include "vernier/analysis/layers/candidate_tensors.h"
#include "vernier/analysis/layers/explain.h"
#include "vernier/analysis/layers/validation.h"
#include "vernier/error.h"
#include "vernier/runtime/recorded_runner.h"

namespace vernier {
namespace {

OrtOptions watching(OrtOptions runtime, bool beside_a_model) {
  runtime.watch = Watch::all();
  runtime.models_at_once = beside_a_model ? 2 : 1;
  runtime.optimization = std::nullopt;
  return runtime;
}

// Tensors that no probe shows lead from one to the other, but stand for no layer.
std::vector<CandidateTensor> visible_tensors(const Model& model, const OrtRunner& runner) {
  std::set<std::string> visible;
  for (const WatchedTensor& tensor : runner.watched()) visible.insert(tensor.name);
  for (const TensorSpec& input : runner.inputs()) visible.insert(input.name);
  std::vector<CandidateTensor> tensors = candidate_tensors(model);
  for (CandidateTensor& tensor : tensors)
    if (!visible.contains(tensor.name)) tensor.name = tensor.layer = "";
  return tensors;
}

// As many samples as were recorded; what was fed is not known.
class RecordedSamples : public Samples {
 public:
  explicit RecordedSamples(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  std::vector<Tensor> sample(std::int64_t) override { return {}; }

 private:
  std::int64_t size_;
};

std::vector<std::string> names_of(const Runner& runner) {
  std::vector<std::string> names;
  for (const TensorSpec& array : runner.outputs()) names.push_back(array.name);
  return names;
}

}  // namespace

LayersResult validate_layers(const Model& candidate, Samples& samples,
                             const LayersOptions& options) {
  LayersReference reference = open_layers_reference(options);
  const Model graph = options.runtime.optimization
                          ? optimize(candidate, *options.runtime.optimization)
                          : candidate.clone();
  OrtRunner runner(graph.clone(), watching(options.runtime, !reference.is_recorded));
  Validation validation(reference, runner, visible_tensors(graph, runner), true, options);
  bool complete = validation.measure(samples);
  if (complete && validation.any_exceeds() &&
      validation.measure_introduced(runner, samples.number(0), samples.sample(0)))
    complete = validation.measure(samples);
  LayersResult result = validation.result();
  result.interrupted = !complete;
  return explain(std::move(result), reference, {candidate, graph}, options);
}

LayersResult validate_recorded_layers(const std::filesystem::path& candidate,
                                      const LayersOptions& options) {
  const RecordedRunner recorded(options.reference);
  RecordedRunner runner(candidate);
  if (runner.size() != recorded.size())
    throw Error(fmt::format("[layers] {} holds {} samples, {} holds {}; record the same ones",
                            options.reference.string(), recorded.size(), candidate.string(),
                            runner.size()));
  LayersReference reference = open_layers_reference(options);
  RecordedSamples samples(runner.size());
  Validation validation(reference, runner, candidate_tensors(names_of(runner)), false, options);
  const bool complete = validation.measure(samples);
  LayersResult result = validation.result();
  result.interrupted = !complete;
  return explain(std::move(result), options);
}

}  // namespace vernier
