#pragma once

#include "vernier/analysis/compare/compare_models.h"

namespace vernier {

// Two models that were compared, and what further runs of them need.
struct ComparedRun {
  const ComparedModels& models;
  Runner& reference;      // as it was run: with what goes into final activations as outputs
  const Model& extended;  // the candidate, likewise
  Samples& samples;
  const CompareModelsOptions& options;
  bool is_whole = true;  // all samples are here, so that the verdict is no part's
};

// Adds to the evidence what figures and weights cannot show, each by a run of a changed candidate,
// and judges anew: whether it computes what the reference does once its quantizers are off, whether
// wider ranges or the reference's biases would better it, and whether other made-up inputs keep the
// limits as well.
void judge_by_further_runs(CompareResult& result, const ComparedRun& run);

}  // namespace vernier
