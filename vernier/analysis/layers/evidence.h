#pragma once

#include <set>
#include <span>
#include <string>

#include "vernier/analysis/layers/graph.h"
#include "vernier/analysis/layers/weights.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// Evidence from the operators of a region; Fact::none if there is none.

// A Dropout or BatchNormalization that computes as in training.
LayerEvidence training_operator(const Region& region);

// Whether the operators that implement a PyTorch module of this type are known.
bool knows_operators(const std::string& type);

// Whether the node may compute a PyTorch module of this type, alone or fused with others.
bool may_compute(const NodeProto& node, const std::string& type);

// Evidence that no operator of the region implements a PyTorch module of this type. None for
// unknown types, or if a quantizer or an operator of another domain may implement it.
LayerEvidence missing_operator(const Region& region, const std::string& type);

// Operators that only one of two ONNX graphs has. None if the candidate's region is quantized:
// other quantizers are a loss of precision, not another computation.
LayerEvidence differing_operators(const Region& reference, const Region& candidate);

// The operators in graph order, without constants.
std::vector<std::string> operator_names(const Region& region);

// Whether the node only passes values on, or gives a shape.
bool is_bookkeeping(const NodeProto& node);

// The names of the weights that the region reads, both as read and as stored.
std::set<std::string> names_read(const Region& region);

// Evidence from the tensors and weights of a region; Fact::none if there is none.

// A weight of the region or of the layer that differs from the reference's.
LayerEvidence differing_weight(const Region& region, std::span<const ComparedWeight> compared,
                               const std::string& layer);

// A tensor below float32, or an operator that computes with quantized numbers.
LayerEvidence low_precision(const Region& region);

// The name of a weight or constant that the region reads and that holds NaN or positive infinity;
// empty if there is none.
std::string nonfinite_constant(const Region& region);

}  // namespace vernier
