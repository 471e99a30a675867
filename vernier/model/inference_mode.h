#pragma once

#include "vernier/model/index.h"

namespace vernier {

// Whether the node computes as in training: a Dropout that drops, or a BatchNormalization that
// takes the statistics of the batch.
bool computes_as_in_training(const vernier_onnx::NodeProto& node, const GraphIndex& graph);

// The model with such nodes of the main graph as they are in inference.
Model in_inference_mode(const Model& model);

}  // namespace vernier
