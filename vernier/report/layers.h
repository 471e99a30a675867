#pragma once

#include <string>

#include "vernier/analysis/layers/layers.h"
#include "vernier/report/document.h"
#include "vernier/report/json.h"

namespace vernier {

struct LayersSubject {
  std::string candidate;
  std::string reference;
  std::string inputs;  // "random normal, seed 42", or the data's file name
  double tolerance = 1e-4;
  std::string optimize;  // ONNX Runtime's level; empty: the graph as it is
  int around = 3;        // rows shown before and after the origin
  int top = 10;          // rows of the table of the worst
  Runtimes runtimes;
};

// The origin with the rows around it, then the worst rows; every row as well if `full`.
Document describe_layers(const LayersSubject& subject, const LayersResult& result, bool full);

// Schema: docs/schemas/layers.schema.json.
std::string layers_json(const LayersSubject& subject, const LayersResult& result);

// How a layer was recognised: "name", "scope"..., "unmatched" if it was not.
std::string_view aligned_by(Match match);

// The rows that were compared or miss a counterpart, the worst first: what could not be compared,
// then by falling max_abs_diff.
std::vector<LayerRow> worst_rows(const LayersResult& result);

}  // namespace vernier
