#pragma once

#include <span>
#include <string>
#include <string_view>

#include "vernier/analysis/layers/layers.h"
#include "vernier/report/envelope.h"

namespace vernier {

struct LayersSubject {
  RunDescription run;
  double tolerance = 1e-4;
  int around = 3;  // rows shown before and after the origin
  int top = 10;    // rows of the table of worst layers
};

// Shows the drift origin with the rows around it, then the worst rows, and also all rows if `full`.
Document describe_layers(const LayersSubject& subject, const LayersResult& result, bool full);

// Schema: docs/schemas/layers.schema.json.
std::string layers_json(const LayersSubject& subject, const LayersResult& result);

// The evidence for the row's cause in one sentence; empty if there is none. `rows` are all rows of
// the result.
std::string describe_evidence(const LayerRow& row, std::span<const LayerRow> rows);

// "fc.weight is not what initializer fc.weight holds: 1 of 240 elements differ, the first at 17, by
// up to 2.98e-08 (1 ulp)"
std::string describe_difference(const ComparedWeight& weight);

// How a layer's counterpart was found: "name", "scope", ...; "unmatched" if it was not.
std::string_view aligned_by(Match match);

// The rows that were compared or have no counterpart, worst first: by falling max_abs_diff, with
// NaN first.
std::vector<LayerRow> worst_rows(const LayersResult& result);

}  // namespace vernier
