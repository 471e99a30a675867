#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "vernier/model/onnx.h"

namespace vernier {

enum class ValueKind { tensor, sequence, map, optional_tensor, optional_sequence };

using ValueKinds = std::unordered_map<std::string, ValueKind>;

// The kind of each value in the graph, from declared types and from the operators. `outer` holds
// the kinds of the enclosing graphs. Values that are not listed are tensors.
ValueKinds value_kinds(const ModelProto& model, const GraphProto& graph,
                       const ValueKinds& outer = {});

// The kind of a value; tensor if it is not listed.
ValueKind kind_of(const ValueKinds& kinds, const std::string& name);

// "a sequence", "an optional".
std::string_view kind_name(ValueKind kind);

}  // namespace vernier
