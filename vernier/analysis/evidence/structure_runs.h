#pragma once

#include <cstdint>
#include <optional>

#include "vernier/analysis/evidence/further_runs.h"
#include "vernier/analysis/evidence/switched_models.h"

namespace vernier {

inline constexpr std::int64_t few_samples = 4;  // enough to tell one network from another

// The options of the first run, without its limits.
CompareOptions options_like(const CompareOptions& first);

// Makes the verdict again from the present evidence.
void judge_anew(CompareResult& result);

// The candidate with switches; nullopt if it is not quantized, its weights differ, or the reference
// is quantized too.
std::optional<SwitchedModel> switched(const CompareResult& result, const ComparedRun& run,
                                      FoldedBounds bounds = FoldedBounds::kept_by_codes);

// Whether the candidate computes the same function as the reference: `model` with all quantizers
// off, or the candidate widened from half precision, is compared with the reference. If it is
// another network, finds the layer where they first differ.
void judge_structure(CompareResult& result, const std::optional<SwitchedModel>& model,
                     const ComparedRun& run);

}  // namespace vernier
