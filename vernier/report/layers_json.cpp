#include <algorithm>
#include <nlohmann/json.hpp>

#include "vernier/report/evidence.h"
#include "vernier/report/layers.h"
#include "vernier/report/verdict.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

// Null if the row was not compared.
Json figure(const LayerRow& row, double value) {
  return row.compared ? json_number(value) : Json(nullptr);
}

Json truth_json(const LayerTruth& truth) {
  return {{"error_reference", json_number(truth.error_reference)},
          {"error_candidate", json_number(truth.error_candidate)},
          {"ratio", json_number(truth.ratio)}};
}

Json row_json(const LayerRow& row, const LayersResult& result) {
  const bool has_tensor = !row.tensor.empty();
  Json json = {{"layer", row.layer},
               {"type", row.type.empty() ? Json(nullptr) : Json(row.type)},
               {"tensor", has_tensor ? Json(row.tensor) : Json(nullptr)},
               {"aligned_by", std::string(aligned_by(row.match))},
               {"shape", row.reference_shape},
               {"candidate_shape", has_tensor ? Json(row.candidate_shape) : Json(nullptr)},
               {"max_abs_diff", figure(row, row.max_abs_diff)},
               {"mean_abs_diff", figure(row, row.mean_abs_diff)},
               {"sqnr_db", figure(row, row.sqnr_db)},
               {"cosine_similarity", figure(row, row.cosine_similarity)},
               {"nan", {{"reference", row.reference_nan}, {"candidate", row.candidate_nan}}},
               {"inf", {{"reference", row.reference_inf}, {"candidate", row.candidate_inf}}},
               {"exceeds_tol", row.exceeds},
               {"layout", row.layout ? Json(row.layout->description) : Json(nullptr)},
               {"introduced_max_abs_diff", optional_json(row.introduced_max_abs_diff)},
               {"cause", cause_name(row.cause)},
               {"detail", describe_evidence(row, result.rows)}};
  if (!row.source.empty()) json["source"] = row.source;
  if (row.truth) json["truth"] = truth_json(*row.truth);
  return json;
}

Json projection_json(const LayerProjection& placed, const LayersResult& result) {
  const PlacedProjection& at = placed.projection;
  const LayerRow& row = result.rows[placed.row];
  return {{"layer", at.layer < 0 ? Json(nullptr) : Json(at.layer)},
          {"projection", projection_name(at.kind)},
          {"node", at.node},
          {"tensor", row.layer},
          {"sqnr_db", json_number(row.sqnr_db)},
          {"introduced_sqnr_db", optional_json(row.introduced_sqnr_db)},
          {"max_abs_diff", json_number(row.max_abs_diff)}};
}

}  // namespace

std::string layers_json(const LayersSubject& subject, const LayersResult& result) {
  Json json = report_json<Json>({subject.run, warning_texts(result.warnings), &result.verdict});
  json["model"] = subject.run.candidate;
  json["tolerance"] = subject.tolerance;
  json["layers"] =
      json_list<Json>(result.rows, [&](const LayerRow& row) { return row_json(row, result); });
  json["model_outputs"] =
      json_list<Json>(result.outputs, [&](const LayerRow& row) { return row_json(row, result); });
  if (!result.projections.empty()) {
    json["projections"] = json_list<Json>(result.projections, [&](const LayerProjection& each) {
      return projection_json(each, result);
    });
  }
  if (result.kl_mean) json["kl_mean"] = json_number(*result.kl_mean);
  const LayerRow* origin = result.origin();
  json["drift_origin"] = origin ? Json(origin->layer) : Json(nullptr);
  json["layers_total"] = result.layers_total();
  json["layers_exceeding"] = result.layers_exceeding;
  json["weight_mismatches"] =
      json_list<Json>(result.weight_mismatches, [&](const ComparedWeight& weight) {
        return Json{{"parameter", weight.parameter},
                    {"initializer", weight.initializer},
                    {"detail", describe_difference(weight)}};
      });
  json["weight_evidence"] = weights_json<Json>(result.weights);
  return json_text(json);
}

}  // namespace vernier
