#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/model/onnx.h"
#include "vernier/tensor/dtype.h"

namespace vernier {

// A node with one output that Vernier inserts into a graph, named "vernier.OP:OUTPUT".
NodeProto make_node(std::string_view op, const std::vector<std::string>& inputs,
                    const std::string& output, std::string_view domain = "");

// A Cast of the tensor.
NodeProto make_cast(const std::string& tensor, DType dtype, const std::string& output);

// Add an attribute that the node does not have yet.
void add_int(NodeProto& node, std::string_view attribute, std::int64_t value);
void add_ints(NodeProto& node, std::string_view attribute, const std::vector<std::int64_t>& values);
void add_float(NodeProto& node, std::string_view attribute, float value);
void add_string(NodeProto& node, std::string_view attribute, std::string_view value);

}  // namespace vernier
