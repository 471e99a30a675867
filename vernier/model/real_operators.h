#pragma once

#include <optional>
#include <vector>

#include "vernier/model/graph.h"

namespace vernier {

// Input positions of a stored tensor, its scale and its zero point.
struct StoredInput {
  int tensor = 0, scale = 1, zero_point = 2;
};

// The operator on real numbers that a QOperator node implements.
struct RealOperator {
  const char* op = "";
  std::vector<StoredInput> inputs;  // in the order of the real operator's inputs
  int bias = -1;                    // int32, scaled by the product of both scales; -1 if none
  int output_scale = -1;            // the zero point follows
  bool has_weight = false;          // the second input is a weight, if it is constant
};

// nullopt for nodes that are no QOperator node, or one whose positions are not known.
std::optional<RealOperator> q_operator(const NodeProto& node);

// As q_operator(), but nullopt also for variants without a real counterpart (channels last).
std::optional<RealOperator> real_operator(const NodeProto& node);

// A node of the real operator with the attributes of `node`, without inputs and outputs.
NodeProto real_node(const NodeProto& node, const RealOperator& real);

// Whether the operator only moves or selects elements of its first input (Reshape, MaxPool), so
// that its output has the same scale and zero point.
bool moves_elements(const NodeProto& node);

}  // namespace vernier
