#include "vernier/analysis/layers/placing.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "vernier/analysis/layers/graph.h"
#include "vernier/analysis/pairing/by_topology.h"

namespace vernier {
namespace {

// The tensors that no layer has, by name.
std::unordered_map<std::string, std::size_t> free_tensors(
    const std::vector<CandidateTensor>& tensors, const std::vector<Placement>& placements) {
  std::unordered_map<std::string, std::size_t> free;
  for (std::size_t i = 0; i < tensors.size(); ++i) free.emplace(tensors[i].name, i);
  for (const LayerPair& pair : placed_pairs(placements)) free.erase(tensors[pair.tensor].name);
  return free;
}

// The tensors that the tensor is computed from.
std::set<std::size_t> tensors_before(const std::vector<CandidateTensor>& tensors,
                                     std::size_t tensor) {
  std::set<std::size_t> before;
  std::vector<std::size_t> open = {tensor};
  while (!open.empty()) {
    const std::size_t next = open.back();
    open.pop_back();
    for (const std::size_t input : tensors[next].inputs)
      if (before.insert(input).second) open.push_back(input);
  }
  return before;
}

void place_by_topology(const std::vector<Layer>& layers,
                       const std::vector<CandidateTensor>& tensors, const GraphPair& graphs,
                       std::vector<Placement>& placements) {
  const auto free = free_tensors(tensors, placements);
  const auto counterparts = match_by_topology(graphs.reference, graphs.candidate);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (placements[i].match != Match::none) continue;
    const auto counterpart = counterparts.find(layers[i].name);
    if (counterpart == counterparts.end()) continue;
    if (const auto tensor = free.find(counterpart->second); tensor != free.end())
      placements[i] = {Match::topology, tensor->second};
  }
}

// If the candidate still has a batch norm that the reference folded into the layer before it, the
// layer's counterpart is the batch norm's output.
void place_behind_norms(const std::vector<Layer>& layers,
                        const std::vector<CandidateTensor>& tensors, const GraphPair& graphs,
                        std::vector<Placement>& placements) {
  const GraphIndex &reference = graphs.reference.main(), &candidate = graphs.candidate.main();
  const auto is_norm = [](const auto* reader) { return is_op(*reader, "BatchNormalization"); };
  const auto free = free_tensors(tensors, placements);
  for (const LayerPair& pair : placed_pairs(placements)) {
    const std::string& layer = layers[pair.layer].name;
    const auto* writer = reference.producer(layer);
    const auto readers = candidate.consumers(tensors[pair.tensor].name);
    if (!writer || !is_product(*writer) || readers.size() != 1 || !is_norm(readers[0]) ||
        std::ranges::any_of(reference.consumers(layer), is_norm))
      continue;
    if (const auto behind = free.find(readers[0]->output(0)); behind != free.end())
      placements[pair.layer].tensor = behind->second;
  }
}

}  // namespace

std::vector<Placement> place_layers(const std::vector<Layer>& layers,
                                    const std::vector<CandidateTensor>& tensors,
                                    const std::optional<GraphPair>& graphs) {
  std::vector<Placement> placements = align(layers, tensors);
  if (!graphs) return placements;
  place_by_topology(layers, tensors, *graphs, placements);
  place_behind_norms(layers, tensors, *graphs, placements);
  return placements;
}

std::vector<LayerPair> replacement_pairs(const std::vector<Placement>& named,
                                         const std::vector<Placement>& placements,
                                         const std::vector<CandidateTensor>& tensors,
                                         Replacements replacements) {
  std::map<std::size_t, std::set<std::size_t>> excluded;
  for (std::size_t layer = 0; layer < named.size(); ++layer)
    if (named[layer].tensor && !placements[layer].tensor)
      excluded[layer] = replacements == Replacements::not_before
                            ? tensors_before(tensors, *named[layer].tensor)
                            : std::set<std::size_t>();
  std::vector<LayerPair> pairs =
      contended_pairs(placements, tensors).value_or(std::vector<LayerPair>());
  std::erase_if(pairs, [&](const LayerPair& pair) {
    const auto before = excluded.find(pair.layer);
    return before == excluded.end() || before->second.contains(pair.tensor);
  });
  return pairs;
}

}  // namespace vernier
