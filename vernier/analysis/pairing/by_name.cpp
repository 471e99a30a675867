#include "vernier/analysis/pairing/by_name.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace vernier {
namespace {

// What quantizers append to the names of tensors they move.
constexpr std::array<std::string_view, 6> quantizer_suffixes = {"_DequantizeLinear_Output",
                                                                "_DequantizeLinear_Output_1",
                                                                "_QuantizeLinear_Output",
                                                                "_QuantizeLinear_Input",
                                                                "_quantized",
                                                                "_fake_quantized"};

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
      return {Match::name, found->second};
  const auto found = scopes.find(layer.name);
  if (found == scopes.end()) return {};
  return {tensors[found->second].layer_is_metadata ? Match::metadata : Match::scope, found->second};
}

void place_outputs(std::span<const Layer> layers, std::span<const CandidateTensor> tensors,
                   std::vector<Placement>& placements) {
  std::vector<std::size_t> layer_outputs, tensor_outputs;
  std::vector<std::string> layer_names, tensor_names;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (layers[i].is_output) layer_outputs.push_back(i), layer_names.push_back(layers[i].name);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].is_output) tensor_outputs.push_back(i), tensor_names.push_back(tensors[i].name);
  for (const OutputPair& pair : pair_outputs(layer_names, tensor_names).pairs)
    if (Placement& placement = placements[layer_outputs[pair.reference]]; !placement.tensor)
      placement = {pair.match, tensor_outputs[pair.candidate]};
}

}  // namespace

Counterpart match_by_name(const std::function<bool(const std::string&)>& exists,
                          const std::string& name) {
  if (name.empty()) return {};
  if (exists(name)) return {name, Match::name};
  for (const std::string_view suffix : quantizer_suffixes)
    if (name.ends_with(suffix)) {
      const std::string stem = name.substr(0, name.size() - suffix.size());
      if (exists(stem)) return {stem, Match::name};
    }
  return {};
}

OutputPairing pair_outputs(std::span<const std::string> reference,
                           std::span<const std::string> candidate, bool positional) {
  const auto place_of = [](std::span<const std::string> names, const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  };
  OutputPairing pairing;
  for (std::size_t i = 0; i < reference.size() && !positional; ++i)
    if (const std::size_t place = place_of(candidate, reference[i]); place < candidate.size())
      pairing.pairs.push_back({candidate[place], i, place, Match::name});
  if (pairing.pairs.empty() && reference.size() == candidate.size()) {
    for (std::size_t i = 0; i < candidate.size(); ++i)
      pairing.pairs.push_back({candidate[i], i, i, Match::position});
    return pairing;
  }
  if (positional) return pair_outputs(reference, candidate);
  for (std::size_t i = 0; i < reference.size(); ++i)
    if (place_of(candidate, reference[i]) == candidate.size()) pairing.only_reference.push_back(i);
  for (std::size_t i = 0; i < candidate.size(); ++i)
    if (place_of(reference, candidate[i]) == reference.size()) pairing.only_candidate.push_back(i);
  return pairing;
}

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

}  // namespace vernier
