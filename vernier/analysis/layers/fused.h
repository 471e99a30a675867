#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "vernier/analysis/layers/diagnose.h"
#include "vernier/analysis/layers/layers.h"
#include "vernier/analysis/pairing/by_name.h"
#include "vernier/analysis/pairing/by_value.h"
#include "vernier/model/index.h"
#include "vernier/model/model.h"

namespace vernier {

// The rows of a validation, and what tells a layer that was fused from one that is wrong or
// missing.
struct MeasuredLayers {
  const std::vector<Layer>& layers;
  const std::map<std::string, std::size_t, std::less<>>& layer_of;  // by name
  const std::vector<CandidateTensor>& tensors;
  const std::vector<Placement>& placements;
  const std::vector<LayerRow>& rows;
  const std::map<std::size_t, IntroducedError>& introduced;
  const GraphIndex* reference;  // null unless it is an ONNX model
  const Model* candidate;       // null without a graph
  bool is_quantized = false;    // the candidate
};

// Whether a layer without a tensor of its own was fused: it was if the layers that read it are
// right. PyTorch does not show the readers, so the next layer stands for them. An output cannot be
// fused.
bool is_computed(const MeasuredLayers& measured, std::size_t layer);

// Whether the tensor holds only a part of the layer's result, although everything computed from it
// is right. Without fused operators, such a tensor is wrong even if later layers hardly show it,
// unless its element count differs: then the layer's values are elsewhere. Between recurrent
// layers, exporters omit the transposes to batch-first and back.
bool holds_only_part(const MeasuredLayers& measured, std::size_t layer);

// Of the layers that read the tensor of one that exceeds, those that are right. The tensor may lack
// a factor that was folded into the weights behind it: then they would be wrong if they read the
// reference's.
std::vector<std::size_t> right_readers(const MeasuredLayers& measured, std::size_t layer);

}  // namespace vernier
