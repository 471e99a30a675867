#pragma once

#include <functional>

#include "vernier/analysis/compare/compare_models.h"
#include "vernier/analysis/evidence/float_weights.h"
#include "vernier/model/index.h"

namespace vernier {

// Two models that were compared, and what further runs of them need.
struct ComparedRun {
  const ComparedModels& models;
  Runner& reference;           // as it was run: the inputs of final activations are outputs too
  const FloatReference& read;  // where the reference's constants are read
  const ModelIndex& extended;  // the candidate with the inputs of final activations as outputs
  Samples& samples;
  const CompareModelsOptions& options;
  bool is_whole = true;                   // all samples are here, so this verdict is final
  std::function<void()> close_reference;  // frees its memory until its next run
};

// Adds evidence that figures and weights cannot show, each by running a modified candidate, and
// judges again: whether the candidate computes what the reference does with its quantizers off,
// whether wider ranges or the reference's biases would improve it, and whether alternative
// synthetic inputs keep the limits as well.
void judge_by_further_runs(CompareResult& result, const ComparedRun& run);

}  // namespace vernier
