#pragma once

#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/layers/layers.h"
#include "vernier/analysis/layers/weights.h"
#include "vernier/model/index.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// Why a row is out of tolerance, and the evidence for it.
struct Diagnosis {
  Cause cause = Cause::none;
  LayerEvidence evidence;
  bool operator==(const Diagnosis&) const = default;
};

// What is known of two models beside the rows.
struct DiagnoseOptions {
  const ModelIndex* candidate = nullptr;    // of the graph that ran; null for a recording
  const ModelIndex* reference = nullptr;    // null unless it is ONNX
  std::span<const WatchedTensor> leaves;    // empty unless it is PyTorch
  std::span<const ComparedWeight> weights;  // of the reference
};

// For each row the first cause that holds; none where it does not exceed. A layer that comes out
// within tolerance on the reference's inputs is not blamed for its weights and operators.
std::vector<Diagnosis> diagnose(std::span<const LayerRow> rows, const DiagnoseOptions& options);

}  // namespace vernier
