#pragma once

#include "vernier/model/index.h"

namespace vernier {

// Whether the node is in training mode: a Dropout that drops, or a BatchNormalization that uses the
// batch's statistics.
bool computes_as_in_training(const NodeProto& node, const GraphIndex& graph);

// The model with every such node of the main graph set to inference mode.
Model in_inference_mode(const ModelIndex& index);

}  // namespace vernier
