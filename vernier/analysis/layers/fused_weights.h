#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "vernier/analysis/layers/diagnose.h"
#include "vernier/analysis/layers/graph.h"

namespace vernier {

// The values of a parameter of the reference; nullopt if they are not known.
using ReadParameter = std::function<std::optional<Tensor>(const std::string& parameter)>;

struct FusedWeightsOptions {
  const ModelIndex& candidate;            // of the graph that ran
  const ModelIndex* reference = nullptr;  // null unless it is an ONNX model
  RunChanged run_changed;                 // if empty, nothing is proven by runs
  ReadParameter read;
};

// Layers that differ only by a factor that was folded into weights were fused. Looks at the weights
// of all layers that are not compared because they were fused. A weight that is not the
// parameter's, and not the parameter times one factor for each channel, makes its layer exceed. Of
// other weights that were not found or differ, runs with changed values tell whether the layers
// behind depend on them. Returns the name of the first on which they do not, or of a parameter that
// is where the reference has another of its size; empty if there is none. `weights` are those of
// the graph that ran.
std::string check_fused_weights(LayersResult& result, std::span<const ComparedWeight> weights,
                                const FusedWeightsOptions& options);

}  // namespace vernier
