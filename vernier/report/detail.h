#pragma once

#include <string>

#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/layers/layers.h"
#include "vernier/analysis/tensor_detail.h"

namespace vernier {

// --detail: the rows whose tensors the HTML page shows, in addition to the outputs.
struct DetailChoice {
  enum class Which { none, worst, all };
  Which which = Which::worst;
  std::size_t count = 20;
};

// "none", "all", "worst:20"; throws Error for anything else.
DetailChoice parse_detail(const std::string& text);

// The recorded tensors of the chosen rows as JSON for the HTML page; arrays are base64.
std::string detail_json(const DetailRecord& record, const DebugResult& result,
                        const DetailChoice& choice);
std::string detail_json(const DetailRecord& record, const LayersResult& result,
                        const DetailChoice& choice);

}  // namespace vernier
