#pragma once

#include <cstddef>
#include <vector>

#include "vernier/analysis/layers/diagnose.h"
#include "vernier/analysis/layers/plan.h"

namespace vernier {

struct ChangedRunOptions {
  OrtOptions runtime;  // of the candidate, watching the rows' tensors
  IoMapping io;
  std::int64_t number = 0;  // of the sample
  std::vector<Tensor> sample;
};

// Runs a changed candidate graph on the reference's tensors. The reference must outlive the result.
RunChanged changed_runs(LayersReference& reference, const ChangedRunOptions& options);

// The reference's tensor in the candidate's type and the row's layout.
std::vector<std::byte> as_candidate_holds(const LayerRow& row, const Tensor& reference,
                                          DType dtype);

}  // namespace vernier
