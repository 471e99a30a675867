#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace vernier_onnx {
class GraphProto;
class ModelProto;
}  // namespace vernier_onnx

namespace vernier {

enum class ValueKind { tensor, sequence, map, optional_tensor, optional_sequence };

using ValueKinds = std::unordered_map<std::string, ValueKind>;

// The kind of each value in the graph, from declared types and from the operators. `outer` holds
// the kinds of the enclosing graphs. Values that are not listed are tensors.
ValueKinds value_kinds(const vernier_onnx::ModelProto& model, const vernier_onnx::GraphProto& graph,
                       const ValueKinds& outer = {});

// "a sequence", "an optional".
std::string_view kind_name(ValueKind kind);

}  // namespace vernier
