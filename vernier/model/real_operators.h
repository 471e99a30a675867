#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vernier/model/graph.h"

namespace vernier {

// Which inputs of an operator are a stored tensor, its scale and its zero point.
struct StoredInput {
  int tensor = 0, scale = 1, zero_point = 2;
};

// What a QOperator node computes, told as an operator on real numbers.
struct RealOperator {
  const char* op = "";
  std::vector<StoredInput> inputs;  // in the order of the real operator's
  int bias = -1;                    // int32, on the product of both scales; -1: it has none
  int output_scale = -1;            // the zero point follows
};

// Nothing for other nodes, and for variants that no real operator computes (channels last).
std::optional<RealOperator> real_operator(const vernier_onnx::NodeProto& node);

// The real operator's node, without inputs and outputs.
vernier_onnx::NodeProto real_node(const vernier_onnx::NodeProto& node, const RealOperator& real);

// Whether the operator hands stored numbers of its first input on as they are (Reshape, MaxPool).
bool moves_elements(const vernier_onnx::NodeProto& node);

}  // namespace vernier
