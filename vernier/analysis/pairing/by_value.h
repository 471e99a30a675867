#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "vernier/analysis/pairing/by_name.h"
#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// Whether the tensors are worth comparing in full to find out if one holds the other's values: as
// many elements, which are not all the same, and like each other in a few places.
bool may_be_alike(const TensorView& reference, const TensorView& candidate);

// Completes `counterparts`: those at the places of `values`, which hold the candidate's tensors on
// one sample, get the float tensor of the reference that is most like them, if any is like them at
// all and is nobody's counterpart yet. The reference must watch all its tensors.
std::vector<Counterpart> match_by_value(Runner& reference, std::span<const Tensor> inputs,
                                        const std::map<std::size_t, Tensor>& values,
                                        std::vector<Counterpart> counterparts);

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
                                                      std::size_t limit = most_contended_pairs);

// How alike a layer and a tensor were on one sample.
struct Likeness {
  LayerPair pair;
  double sqnr_db = 0;
  bool same_shape = false;
  bool operator==(const Likeness&) const = default;
};

// Whether a PyTorch module of this type is a batch norm, and whether it can take one in.
bool is_batch_norm(std::string_view type);
bool takes_batch_norm(std::string_view type);

// Whether the layer does nothing once training is over.
bool is_no_op(const Layer& layer);

// Gives layers without a place the tensor that is most like them, if any is like them at all. A
// tensor that is more like such a layer than like the one whose name it bears was computed by both:
// the layer gets it and the other is fused, as Conv and BatchNorm are. A layer that only hands on
// what another layer's tensor holds is elided. `likenesses` are of placed and of contended pairs.
std::vector<Placement> resolve_by_value(std::span<const Layer> layers,
                                        std::span<const CandidateTensor> tensors,
                                        std::vector<Placement> placements,
                                        std::span<const Likeness> likenesses);

}  // namespace vernier
