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

// Whether it is worth comparing the tensors in full: they have as many elements, the reference's
// elements are not all equal, and a subset of the elements is alike.
bool may_be_alike(const TensorView& reference, const TensorView& candidate);

// Whether the reference's elements are a contiguous part of the candidate's along one axis, which
// may be the part's own: [2,4] and [2,8] of [2,12], or [2,4] of [2,3,4]. Each element may differ by
// `rounding_of_largest` of the largest. False unless both hold floats, of more than one value.
bool is_part_along_axis(const TensorView& reference, const TensorView& candidate);

// Fills in `counterparts` at the indices of `values`, which hold the candidate's tensors on one
// sample: each gets the reference's float tensor that is most like it, if one reaches
// value_match_db and is not yet a counterpart. The reference must watch all its tensors.
std::vector<Counterpart> match_by_value(Runner& reference, std::span<const Tensor> inputs,
                                        const std::map<std::size_t, Tensor>& values,
                                        std::vector<Counterpart> counterparts);

// A layer and a tensor of the candidate that may hold its values, by index.
struct LayerPair {
  std::size_t layer = 0;
  std::size_t tensor = 0;
  // clang-tidy 14 reports a literal in the comparison that the compiler generates.
  auto operator<=>(const LayerPair&) const = default;  // NOLINT(modernize-use-nullptr)
};

// Each placed layer with its tensor.
std::vector<LayerPair> placed_pairs(std::span<const Placement> placements);

// The tensors that may belong to layers without a place. Keeps the order of computation: a tensor
// cannot belong to a layer before one that it is computed from, nor to one after a layer that is
// computed from it. nullopt if there are more than `limit` pairs.
std::optional<std::vector<LayerPair>> contended_pairs(std::span<const Placement> placements,
                                                      std::span<const CandidateTensor> tensors,
                                                      std::size_t limit = most_contended_pairs);

// The similarity of a layer and a tensor on one sample.
struct Likeness {
  LayerPair pair;
  double sqnr_db = 0;
  bool same_shape = false;
  bool operator==(const Likeness&) const = default;
};

// Whether a PyTorch module type is a batch norm, and whether a batch norm can be folded into it.
bool is_batch_norm(std::string_view type);
bool takes_batch_norm(std::string_view type);

// Whether the layer does nothing in eval mode.
bool is_no_op(const Layer& layer);

// Gives each layer without a place the tensor that is most like it, if one reaches value_match_db.
// If that tensor is less like the layer of its name, both computed it, as a folded BatchNorm and
// its Conv do: the layer without a place gets it and the other is fused. A layer that only passes
// on another layer's tensor is elided. `likenesses` holds the placed and the contended pairs.
std::vector<Placement> resolve_by_value(std::span<const Layer> layers,
                                        std::span<const CandidateTensor> tensors,
                                        std::vector<Placement> placements,
                                        std::span<const Likeness> likenesses);

}  // namespace vernier
