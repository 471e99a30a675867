#include "vernier/analysis/layers/resolve.h"

#include <cmath>
#include <limits>
#include <map>

#include "vernier/analysis/debug/match_by_value.h"

namespace vernier {
namespace {

bool folds_into_its_input(const Layer& layer) { return layer.type.starts_with("BatchNorm"); }

bool takes_batch_norm(const Layer& layer) {
  return layer.type.starts_with("Conv") || layer.type == "Linear";
}

class Resolver {
 public:
  Resolver(std::span<const Layer> layers, std::vector<Placement> placements,
           std::span<const Likeness> likenesses)
      : layers_(layers), placements_(std::move(placements)) {
    for (const Likeness& likeness : likenesses) likenesses_[likeness.pair] = likeness;
    for (const LayerPair& pair : placed_pairs(placements_))
      owners_.emplace(pair.tensor, pair.layer);
  }

  std::vector<Placement> resolve() && {
    for (std::size_t layer = 0; layer < layers_.size(); ++layer)
      if (placements_[layer].alignment == Alignment::unmatched) place(layer);
    return std::move(placements_);
  }

 private:
  void place(std::size_t layer) {
    if (const Likeness* best = most_alike(layer))
      place(layer, *best);
    else
      place_folded(layer);
  }

  const Likeness* most_alike(std::size_t layer) const {
    const Likeness* best = nullptr;
    for (auto it = likenesses_.lower_bound({layer, 0});
         it != likenesses_.end() && it->first.layer == layer; ++it) {
      const Likeness& found = it->second;
      if (!(found.sqnr_db >= value_match_db)) continue;
      const bool better = !best || found.sqnr_db > best->sqnr_db ||
                          (found.sqnr_db == best->sqnr_db && found.same_shape && !best->same_shape);
      if (better) best = &found;
    }
    return best;
  }

  double likeness(std::size_t layer, std::size_t tensor) const {
    const auto found = likenesses_.find({layer, tensor});
    return found == likenesses_.end() ? -std::numeric_limits<double>::infinity()
                                      : found->second.sqnr_db;
  }

  void place(std::size_t layer, const Likeness& best) {
    const std::size_t tensor = best.pair.tensor;
    const auto owner = owners_.find(tensor);
    if (owner == owners_.end())
      settle(layer, tensor, is_no_op(layers_[layer]) ? Alignment::elided : Alignment::value);
    else if (best.sqnr_db == likeness(owner->second, tensor) || is_no_op(layers_[layer]))
      placements_[layer] = {Alignment::elided, tensor};
    else if (!(best.sqnr_db < likeness(owner->second, tensor)))
      take_over(layer, tensor);
  }

  // Where an earlier difference hides all likeness: a BatchNorm that left no trace went into the
  // layer before it.
  void place_folded(std::size_t layer) {
    if (layer == 0 || !folds_into_its_input(layers_[layer]) ||
        !takes_batch_norm(layers_[layer - 1]))
      return;
    const auto tensor = placements_[layer - 1].tensor;
    if (tensor && likenesses_.contains({layer, *tensor}) &&
        !(likeness(layer - 1, *tensor) >= value_match_db))
      take_over(layer, *tensor);
  }

  void take_over(std::size_t layer, std::size_t tensor) {
    placements_[owners_.at(tensor)] = {Alignment::fused, std::nullopt};
    settle(layer, tensor, Alignment::value);
  }

  void settle(std::size_t layer, std::size_t tensor, Alignment alignment) {
    placements_[layer] = {alignment, tensor};
    owners_[tensor] = layer;
  }

  std::span<const Layer> layers_;
  std::vector<Placement> placements_;
  std::map<LayerPair, Likeness> likenesses_;
  std::map<std::size_t, std::size_t> owners_;  // the layer of each tensor that has one
};

}  // namespace

bool is_no_op(const Layer& layer) {
  return layer.type == "Identity" || layer.type.find("Dropout") != std::string::npos;
}

std::vector<Placement> resolve_by_value(std::span<const Layer> layers,
                                        std::vector<Placement> placements,
                                        std::span<const Likeness> likenesses) {
  return Resolver(layers, std::move(placements), likenesses).resolve();
}

}  // namespace vernier
