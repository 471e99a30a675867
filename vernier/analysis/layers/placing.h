#pragma once

#include <optional>
#include <vector>

#include "vernier/analysis/layers/plan.h"
#include "vernier/model/index.h"

namespace vernier {

// Both models of a validation between two ONNX models.
struct GraphPair {
  const ModelIndex& reference;
  const ModelIndex& candidate;
};

// Places layers by name and, between two ONNX graphs, by topology.
std::vector<Placement> place_layers(const std::vector<Layer>& layers,
                                    const std::vector<CandidateTensor>& tensors,
                                    const std::optional<GraphPair>& graphs);

// Which tensors may replace the one that a layer was placed with.
enum class Replacements { all, not_before };  // not_before: none that it is computed from

// The tensors that may stand for layers that `named` places and `placements` does not.
std::vector<LayerPair> replacement_pairs(const std::vector<Placement>& named,
                                         const std::vector<Placement>& placements,
                                         const std::vector<CandidateTensor>& tensors,
                                         Replacements replacements);

}  // namespace vernier
