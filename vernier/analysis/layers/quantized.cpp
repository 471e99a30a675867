#include "vernier/analysis/layers/quantized.h"

#include "vernier/analysis/compare/compare_models.h"
#include "vernier/model/index.h"
#include "vernier/model/precision.h"

namespace vernier {

Verdict judge_quantized(const ModelIndex& reference, const ModelIndex& candidate, Samples& samples,
                        const std::optional<WeightEvidence>& weights,
                        const LayersOptions& options) {
  OrtOptions runtime = options.runtime;
  runtime.optimization.reset();
  CompareModelsOptions compared{
      .weights = false, .candidate_runtime = runtime, .reference_runtime = runtime};
  compared.compare.limits = default_limits(precision_of(candidate.model()));
  compared.compare.evidence = {.real_inputs = options.real_inputs, .weights = weights};
  compared.compare.io = options.io;
  compared.compare.records = options.records;
  return compare_models({.reference = &reference, .candidate = candidate}, samples,
                        std::move(compared))
      .verdict;
}

}  // namespace vernier
