#include "vernier/analysis/layers/side_by_side.h"

#include "vernier/analysis/pairing/introduced.h"

namespace vernier {
SideBySide::SideBySide(Runner& reference, Runner& candidate,
                       const std::vector<CandidateTensor>& tensors)
    : reference_(reference),
      candidate_(candidate),
      tensors_(tensors),
      bindings_(bind_inputs(candidate.inputs(), reference.inputs())) {}

std::vector<Tensor> SideBySide::reference_inputs(const std::vector<Tensor>& sample) const {
  return apply_bindings(bindings_, reference_.inputs(), sample);
}

SideBySide::Plan SideBySide::plan(std::span<const Layer> layers,
                                  std::span<const LayerPair> pairs) const {
  Plan plan;
  for (const LayerPair& pair : pairs) {
    plan.by_tensor[tensors_[pair.tensor].name].push_back(pair);
    ++plan.requests[layers[pair.layer].name];
  }
  return plan;
}

std::vector<SeenLayer> SideBySide::run(std::int64_t number, const std::vector<Tensor>& sample,
                                       std::span<const Layer> layers, const SideBySideRun& run) {
  std::vector<SeenLayer> seen;
  const Plan planned = plan(layers, run.pairs);
  const auto note = [&](const TensorView& tensor) {
    seen.push_back(
        {std::string(tensor.name), tensor.dtype, Shape(tensor.shape.begin(), tensor.shape.end())});
  };
  const auto observe = [&](const ObservedTensor& tensor, const TakeReference& take) {
    const auto found = planned.by_tensor.find(tensor.name);
    if (found == planned.by_tensor.end()) return;
    for (const LayerPair& pair : found->second)
      if (const Tensor* reference = take(layers[pair.layer].name))
        run.visit(pair, *reference, tensor);
  };
  reference_.seek(number);
  candidate_.seek(number);
  run_lockstep(reference_, reference_inputs(sample), candidate_, sample, observe,
               {.requests = planned.requests, .observe_reference = note});
  return seen;
}

void SideBySide::run_introduced(Runner& candidate, std::int64_t number,
                                const std::vector<Tensor>& sample, std::span<const Layer> layers,
                                const SideBySideRun& run) {
  const Plan planned = plan(layers, run.pairs);
  const auto measure = [&](const TensorView& tensor, const TakeReference& take) {
    const auto found = planned.by_tensor.find(tensor.name);
    if (found == planned.by_tensor.end()) return std::vector<std::byte>();
    for (const LayerPair& pair : found->second)
      if (const Tensor* reference = take(layers[pair.layer].name))
        run.visit(pair, *reference, tensor);
    return run.replacement();
  };
  reference_.seek(number);
  run_on_reference_inputs(reference_, reference_inputs(sample), candidate, sample, measure,
                          planned.requests);
}

}  // namespace vernier
