#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/compare/compare_models.h"
#include "vernier/analysis/evidence/further_runs.h"
#include "vernier/analysis/evidence/switched_models.h"

namespace vernier {

// The candidate in float32 with the reference's weights: a quantized one with its quantizers off,
// or one in half precision, widened.
struct FloatForm {
  Model model;
  std::vector<std::string> rounded;  // constants whose rounding remains and may show in the outputs
  bool only_fine = false;            // as in StructureEvidence
};

FloatForm float_form(const SwitchedModel& switched, const WeightEvidence& weights,
                     const ComparedRun& run);

// The form with the constants that stay rounded moved by random errors, three times as large as
// those of rounding. nullopt if something else than constants stays quantized.
std::optional<Model> rounded_more(const FloatForm& form, const ModelIndex& candidate);

// nullopt if the candidate is not in half precision, its weights differ, or the reference is not in
// float32.
std::optional<FloatForm> widened_form(const CompareResult& result, const ComparedRun& run);

}  // namespace vernier
