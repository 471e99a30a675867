#include "vernier/analysis/layers/align.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace vernier {
namespace {

using Index = std::unordered_map<std::string, std::size_t>;

// The tensor of each layer's scope that something outside reads, the last if there are several.
Index scope_outputs(std::span<const CandidateTensor> tensors) {
  std::vector<bool> leaves_scope(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].is_output) leaves_scope[i] = true;
    for (const std::size_t input : tensors[i].inputs)
      if (tensors[input].layer != tensors[i].layer) leaves_scope[input] = true;
  }
  Index outputs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto [entry, added] = outputs.emplace(tensors[i].layer, i);
    if (!added && (leaves_scope[i] || !leaves_scope[entry->second])) entry->second = i;
  }
  outputs.erase("");
  return outputs;
}

Placement place(const Layer& layer, const Index& names, const Index& scopes,
                std::span<const CandidateTensor> tensors) {
  for (const std::string& name : {layer.name, layer.name + ".0"})
    if (const auto found = names.find(name); found != names.end())
      return {Alignment::name, found->second};
  const auto found = scopes.find(layer.name);
  if (found == scopes.end()) return {};
  return {tensors[found->second].layer_is_metadata ? Alignment::metadata : Alignment::scope,
          found->second};
}

void place_outputs(std::span<const Layer> layers, std::span<const CandidateTensor> tensors,
                   std::vector<Placement>& placements) {
  std::vector<std::size_t> layer_outputs, tensor_outputs;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (layers[i].is_output) layer_outputs.push_back(i);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].is_output) tensor_outputs.push_back(i);
  if (layer_outputs.size() != tensor_outputs.size()) return;
  for (std::size_t i = 0; i < layer_outputs.size(); ++i)
    if (Placement& placement = placements[layer_outputs[i]]; !placement.tensor)
      placement = {Alignment::position, tensor_outputs[i]};
}

// The layers that a tensor may stand for: those strictly between two numbers.
struct Window {
  std::ptrdiff_t after = -1;
  std::ptrdiff_t before = std::numeric_limits<std::ptrdiff_t>::max();
};

// Narrows until nothing changes: subgraphs are listed behind the nodes that read their results.
std::vector<Window> windows(std::span<const Placement> placements,
                            std::span<const CandidateTensor> tensors) {
  std::vector<Window> claimed(tensors.size()), found(tensors.size());
  for (std::size_t layer = 0; layer < placements.size(); ++layer)
    if (const auto tensor = placements[layer].tensor) {
      const auto number = static_cast<std::ptrdiff_t>(layer);
      claimed[*tensor].after = std::max(claimed[*tensor].after, number);
      claimed[*tensor].before = std::min(claimed[*tensor].before, number);
    }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      for (const std::size_t input : tensors[i].inputs) {
        const std::ptrdiff_t after = std::max(claimed[input].after, found[input].after);
        if (after > found[i].after) changed = true, found[i].after = after;
      }
    for (std::size_t i = tensors.size(); i-- > 0;)
      for (const std::size_t input : tensors[i].inputs) {
        const std::ptrdiff_t before = std::min(claimed[i].before, found[i].before);
        if (before < found[input].before) changed = true, found[input].before = before;
      }
  }
  return found;
}

}  // namespace

std::vector<Placement> align(std::span<const Layer> layers,
                             std::span<const CandidateTensor> tensors) {
  Index names;
  for (std::size_t i = 0; i < tensors.size(); ++i) names.emplace(tensors[i].name, i);
  const Index scopes = scope_outputs(tensors);
  std::vector<Placement> placements;
  for (const Layer& layer : layers) placements.push_back(place(layer, names, scopes, tensors));
  place_outputs(layers, tensors, placements);
  return placements;
}

std::vector<LayerPair> placed_pairs(std::span<const Placement> placements) {
  std::vector<LayerPair> pairs;
  for (std::size_t layer = 0; layer < placements.size(); ++layer)
    if (placements[layer].tensor) pairs.push_back({layer, *placements[layer].tensor});
  return pairs;
}

std::optional<std::vector<LayerPair>> contended_pairs(std::span<const Placement> placements,
                                                      std::span<const CandidateTensor> tensors,
                                                      std::size_t limit) {
  std::vector<std::ptrdiff_t> homeless;
  for (std::size_t layer = 0; layer < placements.size(); ++layer)
    if (placements[layer].alignment == Alignment::unmatched)
      homeless.push_back(static_cast<std::ptrdiff_t>(layer));
  const std::vector<Window> open = windows(placements, tensors);
  std::vector<LayerPair> pairs;
  for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    if (tensors[tensor].name.empty()) continue;
    auto layer = std::ranges::upper_bound(homeless, open[tensor].after);
    for (; layer != homeless.end() && *layer < open[tensor].before; ++layer) {
      if (pairs.size() == limit) return std::nullopt;
      pairs.push_back({static_cast<std::size_t>(*layer), tensor});
    }
  }
  return pairs;
}

}  // namespace vernier
