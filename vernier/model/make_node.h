#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vernier_onnx {
class NodeProto;
}  // namespace vernier_onnx

namespace vernier {

// A node with one output that Vernier inserts into a graph, named "vernier.OP:OUTPUT".
vernier_onnx::NodeProto make_node(std::string_view op, const std::vector<std::string>& inputs,
                                  const std::string& output, std::string_view domain = "");

// Add an attribute that the node does not have yet.
void add_int(vernier_onnx::NodeProto& node, std::string_view attribute, std::int64_t value);
void add_ints(vernier_onnx::NodeProto& node, std::string_view attribute,
              const std::vector<std::int64_t>& values);
void add_float(vernier_onnx::NodeProto& node, std::string_view attribute, float value);
void add_string(vernier_onnx::NodeProto& node, std::string_view attribute, std::string_view value);

}  // namespace vernier
