#include "vernier/analysis/layers/side_by_side.h"

#include "vernier/analysis/lockstep.h"

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

std::vector<SeenLayer> SideBySide::run(std::int64_t number, const std::vector<Tensor>& sample,
                                       std::span<const Layer> layers, const SideBySideRun& run) {
  std::vector<SeenLayer> seen;
  LockstepOptions options;
  options.show_candidate_inputs = true;  // a layer may be one that hands them on
  options.observe_reference = [&](const TensorView& tensor) {
    seen.push_back(
        {std::string(tensor.name), tensor.dtype, Shape(tensor.shape.begin(), tensor.shape.end())});
  };
  std::map<std::string, std::vector<LayerPair>> by_tensor;
  for (const LayerPair& pair : run.pairs) {
    by_tensor[tensors_[pair.tensor].name].push_back(pair);
    ++options.wants[layers[pair.layer].name];
  }
  const auto observe = [&](const ObservedTensor& tensor, const TakeReference& take) {
    const auto found = by_tensor.find(std::string(tensor.name));
    if (found == by_tensor.end()) return;
    for (const LayerPair& pair : found->second)
      if (const Tensor* reference = take(layers[pair.layer].name))
        run.visit(pair, *reference, tensor);
    if (run.tensor_done) run.tensor_done(tensor);
  };
  reference_.seek(number);
  candidate_.seek(number);
  run_lockstep(reference_, reference_inputs(sample), candidate_, sample, observe, options);
  return seen;
}

}  // namespace vernier
