#pragma once

#include <utility>

#include "vernier/analysis/compare/compare_models.h"
#include "vernier/model/index.h"

namespace vernier {

inline CompareResult compare_models(const Model& reference, const Model& candidate,
                                    Samples& samples, CompareModelsOptions options) {
  const ModelIndex expected(reference), found(candidate);
  return compare_models({.reference = &expected, .candidate = found}, samples, std::move(options));
}

}  // namespace vernier
