#include "vernier/analysis/layers/fused.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "vernier/analysis/layers/side_by_side.h"

namespace vernier {
namespace {

// The first layers on each path from the tensor. Empty if a path ends in an output without a layer.
std::vector<std::size_t> layers_reading(const MeasuredLayers& measured, std::size_t tensor) {
  const std::vector<CandidateTensor>& tensors = measured.tensors;
  std::vector<std::size_t> found;
  std::set<std::size_t> open = {tensor};
  for (std::size_t next = tensor + 1; next < tensors.size(); ++next) {
    if (std::ranges::none_of(tensors[next].inputs,
                             [&](auto input) { return open.contains(input); }))
      continue;
    const auto layer =
        std::ranges::find(measured.placements, std::optional(next), &Placement::tensor);
    if (layer != measured.placements.end())
      found.push_back(layer - measured.placements.begin());
    else if (tensors[next].is_output)
      return {};
    else
      open.insert(next);
  }
  return found;
}

// Operators outside ONNX's own domain are what optimisers fuse others into.
bool has_fused_operators(const Model& model) {
  return std::ranges::any_of(all_subgraphs(model.graph()), [](const Subgraph& subgraph) {
    return std::ranges::any_of(subgraph.graph->node(), [](const NodeProto& node) {
      return !node.domain().empty() && node.domain() != "ai.onnx";
    });
  });
}

// Modules that also return their states.
bool is_recurrent(std::string_view type) {
  return type == "LSTM" || type == "GRU" || type == "RNN";
}

// Whether the layer is right on the reference's inputs. A quantizer leaves some noise.
bool is_sound(const MeasuredLayers& measured, std::size_t layer) {
  if (!is_exceeding(measured.rows[layer])) return true;
  const auto found = measured.introduced.find(layer);
  if (found == measured.introduced.end()) return false;
  return found->second.max_abs_diff <= measured.rows[layer].allowed ||
         (measured.is_quantized && found->second.sqnr_db >= sound_layer_db);
}

// The layers that read it, by the reference's graph; empty without one.
std::vector<std::size_t> readers_of(const MeasuredLayers& measured, std::size_t layer) {
  std::vector<std::size_t> found;
  if (!measured.reference) return found;
  for (const auto* node : measured.reference->consumers(measured.layers[layer].name))
    for (const std::string& output : node->output())
      if (const auto reader = measured.layer_of.find(output); reader != measured.layer_of.end())
        found.push_back(reader->second);
  return found;
}

// Whether the layer is a result of a recurrent module of which another result was computed.
bool is_computed_state(const MeasuredLayers& measured, std::size_t layer) {
  const std::vector<Layer>& layers = measured.layers;
  if (!is_recurrent(layers[layer].type)) return false;
  for (std::size_t other = 0; other < layers.size(); ++other) {
    const LayerRow& row = measured.rows[other];
    if (other != layer && (row.compared || row.match == Match::fused) &&
        is_recurrent(layers[other].type) &&
        without_result(layers[other].name) == without_result(layers[layer].name))
      return true;
  }
  return false;
}

}  // namespace

bool is_computed(const MeasuredLayers& measured, std::size_t layer) {
  const std::vector<LayerRow>& rows = measured.rows;
  const auto is_output = [&](std::size_t each) {
    return measured.reference && measured.reference->is_output(measured.layers[each].name);
  };
  const auto has_counterpart = [&](std::size_t each) {
    return rows[each].compared && rows[each].match != Match::elided;
  };
  if (!measured.candidate || is_output(layer)) return false;
  // Nothing reads a state like "lstm.2".
  if (is_computed_state(measured, layer)) return true;
  std::vector<std::size_t> open = readers_of(measured, layer);
  if (open.empty())
    for (std::size_t next = layer + 1; next < rows.size(); ++next)
      if (has_counterpart(next)) return is_sound(measured, next);
  std::set<std::size_t> seen(open.begin(), open.end());
  for (std::size_t i = 0; i < open.size(); ++i) {
    const std::size_t reader = open[i];
    if (has_counterpart(reader)) {
      if (!is_sound(measured, reader)) return false;
      continue;
    }
    if (is_output(reader)) return false;
    for (const std::size_t next : readers_of(measured, reader))
      if (seen.insert(next).second) open.push_back(next);
  }
  return !open.empty();
}

bool holds_only_part(const MeasuredLayers& measured, std::size_t layer) {
  const LayerRow& row = measured.rows[layer];
  if (!measured.candidate || (row.match != Match::scope && row.match != Match::metadata) ||
      !is_exceeding(row))
    return false;
  if (is_recurrent(row.type) && row.layout && row.layout->layout.sqnr_db >= rounding_db)
    return true;
  if (row.compared &&
      (!has_fused_operators(*measured.candidate) || !(row.sqnr_db < whole_layer_db)))
    return false;
  const std::vector<std::size_t> readers =
      layers_reading(measured, *measured.placements[layer].tensor);
  return !readers.empty() && std::ranges::none_of(readers, [&](std::size_t reader) {
    return is_exceeding(measured.rows[reader]);
  });
}

std::vector<std::size_t> right_readers(const MeasuredLayers& measured, std::size_t layer) {
  const LayerRow& row = measured.rows[layer];
  const auto& tensor = measured.placements[layer].tensor;
  if (!measured.candidate || measured.is_quantized || !tensor || !row.compared ||
      !is_exceeding(row) || measured.tensors[*tensor].is_output)
    return {};
  std::vector<std::size_t> readers = layers_reading(measured, *tensor);
  std::erase_if(readers, [&](std::size_t reader) { return is_exceeding(measured.rows[reader]); });
  return readers;
}

}  // namespace vernier
