#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/compare/compare_models.h"
#include "vernier/analysis/evidence/further_runs.h"
#include "vernier/analysis/evidence/switched_models.h"

namespace vernier {

// The reference where its constants are read; its model, if that is known, is indexed here.
class ReadReference {
 public:
  explicit ReadReference(const ComparedModels& models) {
    if (models.reference)
      reference_.model = &index_.emplace(*models.reference);
    else
      reference_.runner = models.reference_runner;
  }
  const FloatReference& get() const { return reference_; }

 private:
  std::optional<ModelIndex> index_;
  FloatReference reference_;
};

// The candidate in float32, with the reference's weights: without its quantizers, or widened from
// half precision.
struct FloatForm {
  Model model;
  std::vector<std::string> rounded;  // what keeps its precision, and may show
  bool only_fine = false;            // as StructureEvidence has it
};

FloatForm float_form(const SwitchedModel& switched, const WeightEvidence& weights,
                     const ComparedRun& run);

// Nothing where the candidate is not in half precision, its weights are others, or the reference is
// no float32 model.
std::optional<FloatForm> widened_form(const CompareResult& result, const ComparedRun& run);

}  // namespace vernier
