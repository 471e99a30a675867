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

// The introduced error of a layer: its output on the reference's inputs, against the reference's.
struct IntroducedError {
  double max_abs_diff = 0;
  double sqnr_db = 0;
};

// Returns the introduced errors of all rows after a change of the candidate's graph; nullopt for a
// row that was not measured, and for all rows if the graph does not run.
using RunChanged = std::function<std::vector<std::optional<IntroducedError>>(
    std::span<const LayerRow> rows, const Model& changed)>;

// What is known of the two models besides the rows.
struct DiagnoseOptions {
  const ModelIndex* candidate = nullptr;    // of the graph that ran; null for a recording
  const ModelIndex* reference = nullptr;    // null unless it is an ONNX model
  std::span<const WatchedTensor> leaves;    // empty unless the reference is PyTorch
  std::span<const ComparedWeight> weights;  // of the reference
  // Proves a training mode or an attribute by correcting it; if empty, findings are not proven.
  RunChanged run_changed = {};
};

// For each row the first cause that holds; Cause::none if the row does not exceed. A layer that is
// within tolerance on the reference's inputs is not blamed for its weights and operators. An
// attribute is the cause only if the layer is right with the reference's value; a training mode
// only if most of the layer's error disappears without it.
std::vector<Diagnosis> diagnose(std::span<const LayerRow> rows, const DiagnoseOptions& options);

}  // namespace vernier
