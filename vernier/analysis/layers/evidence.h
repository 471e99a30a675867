#pragma once

#include <set>
#include <span>
#include <string>

#include "vernier/analysis/layers/graph.h"
#include "vernier/analysis/layers/weights.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// What the operators of a region say about a difference; Fact::none: nothing.

// A Dropout or BatchNormalization that computes as in training.
LayerEvidence training_operator(const Region& region);

// Whether it is known which operators do what a PyTorch module of this type does.
bool knows_operators(const std::string& type);

// A region in which no operator does what a PyTorch module of this type does. Nothing is said of
// types that are not known, nor where operators of other domains or a quantizer may do it.
LayerEvidence missing_operator(const Region& region, const std::string& type);

// Operators that only one of two ONNX graphs has. Nothing is said of a candidate that is quantized:
// values on another quantizer are a loss of precision, not another computation.
LayerEvidence differing_operators(const Region& reference, const Region& candidate);

// The operators that compute, in the order of the graph.
std::vector<std::string> operator_names(const Region& region);

// Whether the node quantizes, or computes with quantized numbers.
bool is_quantized(const vernier_onnx::NodeProto& node);

// Whether the node only hands values on, or tells shapes.
bool is_bookkeeping(const vernier_onnx::NodeProto& node);

// The names of the weights that the region reads, as it reads them and as they are stored.
std::set<std::string> names_read(const Region& region);

// What the tensors and weights of a region say about a difference; Fact::none: nothing.

// A weight that the region reads, or that belongs to the layer, and that is not the reference's.
LayerEvidence differing_weight(const Region& region, std::span<const ComparedWeight> compared,
                               const std::string& layer);

// A tensor below float32, or an operator that computes with quantized numbers.
LayerEvidence low_precision(const Region& region);

// The name of a weight or constant that the region reads and that holds NaN or infinity; empty if
// there is none.
std::string nonfinite_constant(const Region& region);

}  // namespace vernier
