#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/layers/candidate_tensors.h"
#include "vernier/analysis/layers/layers.h"

namespace vernier {

// A layer of the reference, as it is aligned.
struct Layer {
  std::string name;
  std::string type = "";
  bool is_output = false;  // of a model whose outputs may be told by their position
  bool operator==(const Layer&) const = default;
};

// Where a layer is in the candidate.
struct Placement {
  Alignment alignment = Alignment::unmatched;
  std::optional<std::size_t> tensor;  // in the candidate's list
  bool operator==(const Placement&) const = default;
};

// Places layers by what names say, without running anything: by a tensor of their own name (that of
// a first output, "lstm.0", is the layer's too), by the exporter's scope, where the last tensor
// that leaves the scope is the layer's output, and outputs by their position.
std::vector<Placement> align(std::span<const Layer> layers,
                             std::span<const CandidateTensor> tensors);

// A layer and a tensor of the candidate that may hold its values.
struct LayerPair {
  std::size_t layer = 0;
  std::size_t tensor = 0;
  // The literal that clang-tidy 14 sees is of the comparison that the compiler writes.
  auto operator<=>(const LayerPair&) const = default;  // NOLINT(modernize-use-nullptr)
};

// Each placed layer with its tensor.
std::vector<LayerPair> placed_pairs(std::span<const Placement> placements);

// The tensors that may be those of the layers without a place. The order of computation is
// respected: a tensor stands for no layer before one that it is computed from, nor after one that
// is computed from it. Nothing if there are more than `limit`.
std::optional<std::vector<LayerPair>> contended_pairs(std::span<const Placement> placements,
                                                      std::span<const CandidateTensor> tensors,
                                                      std::size_t limit = 2'000'000);

}  // namespace vernier
