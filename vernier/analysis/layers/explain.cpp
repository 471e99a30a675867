#include "vernier/analysis/layers/explain.h"

#include <cmath>
#include <optional>

#include "vernier/analysis/layers/diagnose.h"
#include "vernier/runtime/open_runner.h"

namespace vernier {
namespace {

Failure failure_of(const LayerRow& row, const Limit& limit) {
  Failure failure{.subject = row.layer, .group = "layer", .metric = limit.metric, .limit = limit};
  failure.value = row.max_abs_diff;
  if (row.match == Match::none) {
    failure.kind = FailureKind::missing;
    failure.metric = "candidate";
  } else if (!row.compared || within(limit, row.max_abs_diff)) {
    failure.kind = FailureKind::shape;
    failure.reference_shape = row.reference_shape;
    failure.candidate_shape = row.candidate_shape;
  } else if (std::isnan(row.max_abs_diff)) {
    failure.kind = FailureKind::nonfinite;
  }
  return failure;
}

Verdict judge_layers(const LayersResult& result, double tolerance) {
  const Limit limit{.metric = "max_abs_diff", .fails = Limit::Fails::above, .value = tolerance};
  std::vector<Failure> failures;
  for (const LayerRow& row : result.rows)
    if (row.exceeds) failures.push_back(failure_of(row, limit));
  if (result.samples == 0)
    failures.push_back({.metric = "max_abs_diff", .limit = limit, .kind = FailureKind::unmeasured});
  return make_verdict({limit}, std::move(failures));
}

LayersResult with_causes(LayersResult result, const DiagnoseOptions& options) {
  result.verdict = judge_layers(result, options.tolerance);
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
