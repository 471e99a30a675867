#pragma once

#include <string>

#include "vernier/analysis/layers/region.h"
#include "vernier/analysis/layers/stored_weights.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// What the operators of a region say about a difference, in a sentence each; empty: nothing.

// A Dropout or BatchNormalization that computes as in training.
std::string training_operator(const Region& region, const StoredWeights& weights);

// A region in which no operator does what a PyTorch module of this type does. Nothing is said of
// types that are not known, nor where operators of other domains or a quantizer may do it.
std::string missing_operator(const Region& region, const std::string& type);

// Operators that only one of two ONNX graphs has. Nothing is said of a candidate that is quantized:
// values on another quantizer are a loss of precision, not another computation.
std::string differing_operators(const Region& reference, const Region& candidate);

// An attribute that the reference sets differently, where both have the same operators.
std::string differing_attribute(const Region& reference, const Region& candidate);

// An epsilon or slope that is not the one the PyTorch module was called with.
std::string differing_constant(const Region& region, const StoredWeights& weights,
                               const WatchedTensor& leaf);

// "Conv, Relu": the operators that compute, in the order of the graph; of many only the last.
std::string operator_names(const Region& region);

// Whether the node quantizes, or computes with quantized numbers.
bool is_quantized(const vernier_onnx::NodeProto& node);

// Whether the node only hands values on, or tells shapes.
bool is_bookkeeping(const vernier_onnx::NodeProto& node);

}  // namespace vernier
