#include "vernier/analysis/layers/explain.h"

#include <optional>

#include "vernier/analysis/layers/diagnose.h"
#include "vernier/runtime/open_runner.h"

namespace vernier {
namespace {

LayersResult with_causes(LayersResult result, const DiagnoseOptions& options) {
  const std::vector<Diagnosis> diagnoses = diagnose(result.rows, options);
  for (std::size_t i = 0; i < diagnoses.size(); ++i) {
    result.rows[i].cause = diagnoses[i].cause;
    result.rows[i].detail = diagnoses[i].detail;
  }
  return result;
}

}  // namespace

LayersResult explain(LayersResult result, const LayersReference& reference,
                     const CandidateModels& candidate, const LayersOptions& options) {
  std::optional<Model> model;
  if (model_format(options.reference) == ModelFormat::onnx)
    model.emplace(Model::load(options.reference));
  std::vector<WatchedTensor> leaves;
  if (!model) leaves = reference.runner->watched();
  const std::vector<ComparedWeight> weights =
      model ? compare_weights(*model, candidate.shipped)
            : compare_weights(*reference.runner, candidate.shipped);
  result.weight_mismatches = weight_mismatches(weights);
  return with_causes(std::move(result), {.tolerance = options.tolerance,
                                         .candidate = &candidate.ran,
                                         .reference = model ? &*model : nullptr,
                                         .leaves = leaves,
                                         .weights = weights});
}

LayersResult explain(LayersResult result, const LayersOptions& options) {
  return with_causes(std::move(result), {.tolerance = options.tolerance});
}

}  // namespace vernier
