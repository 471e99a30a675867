#pragma once

#include <string>

#include "vernier/model/model.h"

namespace vernier {

// A model's structure for the page, compact: the main graph and its subgraphs, every node with its
// operator, attributes, tensors, module and where its line of Python is, and what is known of the
// tensors' types. Tensors have the names that probes give them, which rows of results use.
//   {"tensors": [name], "types": {"3": "float32 [1,10]"}, "weights": [tensor],
//    "graphs": [{"owner": node, "name": "then_branch", "inputs": [tensor], "outputs": [tensor]}],
//    "nodes": [{"name", "op", "graph", "in": [tensor], "out": [tensor], "attributes": {name: text},
//               "module": "layer1.0.conv1", "trace": "File ..."}],
//    "sources": {file: {"begin": line, "lines": [text]}}}
std::string graph_json(const Model& model);

}  // namespace vernier
