#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vernier/analysis/evidence/further_runs.h"
#include "vernier/analysis/evidence/switched_models.h"

namespace vernier {

inline constexpr std::int64_t few_samples = 4;  // that tell one network from another

// As the first run was made, but for limits.
CompareOptions options_like(const CompareOptions& first);

// By the evidence as it is now.
void judge_anew(CompareResult& result);

// The candidate with switches. Nothing where the weights are others, or the reference is quantized,
// too.
std::optional<SwitchedModel> switched(const CompareResult& result, const ComparedRun& run,
                                      FoldedBounds bounds = FoldedBounds::kept_by_codes);

// Whether the candidate computes what the reference does, but for its precision: its `model` with
// all quantizers off, or widened from half precision, is run beside the reference. Where it is
// another network, the place is named.
void judge_structure(CompareResult& result, const std::optional<SwitchedModel>& model,
                     const ComparedRun& run);

// "in float32 the candidate leaves the reference at conv3 (...)"; "" where that is not known.
std::string origin_warning(const StructureEvidence& structure);

}  // namespace vernier
