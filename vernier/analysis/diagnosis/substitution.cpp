#include "vernier/analysis/diagnosis/substitution.h"

#include <algorithm>
#include <utility>

#include "vernier/analysis/compare/compare.h"
#include "vernier/analysis/layers/plan.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {

std::optional<std::vector<PairResult>> outputs_with_layer(const LayerRow& row,
                                                          const Model& candidate, Samples& samples,
                                                          const SubstitutionOptions& options) {
  if (row.tensor.empty() || !row.compared || row.layout) return std::nullopt;
  const LayersReference reference = open_layers_reference(options.reference);
  OrtOptions runtime = options.candidate_runtime;
  runtime.watch = Watch::only({row.tensor});
  OrtRunner watched(candidate.clone(), runtime);
  Tensor right;  // the reference's layer, of the current run
  bool is_substituted = false;
  CompareOptions compare_options{.io = options.io};
  compare_options.outputs_by_position = reference.runner->outputs_are_positional();
  compare_options.observe_reference = [&](const ObservedTensor& tensor) {
    if (tensor.name == row.layer) right = copy(tensor);
  };
  compare_options.observe_candidate = [&](const ObservedTensor& tensor) {
    const Tensor same_type = convert(right, tensor.dtype);
    is_substituted = same_type.bytes.size() == tensor.writable.size();
    if (is_substituted) std::ranges::copy(same_type.bytes, tensor.writable.begin());
  };
  CompareResult result = compare(*reference.runner, watched, samples, compare_options);
  if (!is_substituted) return std::nullopt;
  return std::move(result.outputs);
}

}  // namespace vernier
