#pragma once

#include <cstddef>
#include <vector>

#include "vernier/analysis/layers/diagnose.h"
#include "vernier/analysis/layers/plan.h"

namespace vernier {

struct ChangedRunOptions {
  OrtOptions runtime;  // of the candidate, watching the tensors of the rows
  IoMapping io;
  std::int64_t number = 0;  // of the sample
  std::vector<Tensor> sample;
};

// Runs such a graph in the place of the candidate's beside the reference, which must outlive it.
RunChanged changed_runs(LayersReference& reference, const ChangedRunOptions& options);

// The reference's tensor as the candidate holds it: in its type, and in the layout of the row.
std::vector<std::byte> as_candidate_holds(const LayerRow& row, const Tensor& reference,
                                          DType dtype);

}  // namespace vernier
