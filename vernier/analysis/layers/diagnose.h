#pragma once

#include <functional>
#include <optional>
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

// What a layer's output on the reference's inputs is off by.
struct IntroducedError {
  double max_abs_diff = 0;
  double sqnr_db = 0;
};

// The introduced errors of all rows once the candidate's graph is changed; nothing for rows that
// have none, and for all where the graph does not run.
using RunChanged = std::function<std::vector<std::optional<IntroducedError>>(
    std::span<const LayerRow> rows, const Model& changed)>;

// What is known of two models beside the rows.
struct DiagnoseOptions {
  const ModelIndex* candidate = nullptr;    // of the graph that ran; null for a recording
  const ModelIndex* reference = nullptr;    // null unless it is ONNX
  std::span<const WatchedTensor> leaves;    // empty unless it is PyTorch
  std::span<const ComparedWeight> weights;  // of the reference
  // Proves training modes and attributes by putting them right; empty: what is found is believed.
  RunChanged run_changed = {};
};

// For each row the first cause that holds; none where it does not exceed. A layer that comes out
// within tolerance on the reference's inputs is not blamed for its weights and operators. An
// attribute is the cause only where the layer is right with the reference's, a training mode only
// where most of the layer's error is gone without it.
std::vector<Diagnosis> diagnose(std::span<const LayerRow> rows, const DiagnoseOptions& options);

}  // namespace vernier
