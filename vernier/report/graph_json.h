#pragma once

#include <string>

#include "vernier/model/index.h"

namespace vernier {

// A model's structure as compact JSON for the HTML page: the main graph and its subgraphs, every
// node with its operator, attributes, tensors, module and line of Python, and the known types of
// tensors. Tensors have the names that probes give them, as in rows of results.
//   {"tensors": [name], "types": {"3": "float32 [1,10]"}, "weights": [tensor],
//    "graphs": [{"owner": node, "name": "then_branch", "inputs": [tensor], "outputs": [tensor]}],
//    "nodes": [{"name", "op", "graph", "in": [tensor], "out": [tensor], "attributes": {name: text},
//               "module": "layer1.0.conv1", "source": [file, line, text]}],
//    "sources": {file: {line: text}}}
std::string graph_json(const ModelIndex& index);

}  // namespace vernier
