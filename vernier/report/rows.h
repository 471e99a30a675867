#pragma once

#include <string>

namespace vernier {

// Converts a JSON result for other tools: one row per output, tensor, layer, weight, array,
// finding, metric or configuration. All three formats say so if the run was interrupted.

// CSV (RFC 4180): the kind of row, then every number and text of the rows, under the JSON's keys.
std::string render_csv(const std::string& json);

// JUnit XML: the verdict and every row is a test case. If the verdict is not a pass, a row fails if
// one of the verdict's failures is about it.
std::string render_junit(const std::string& json);

// Node data for Google's Model Explorer: the SQNR of each tensor of the candidate, under the name
// of the node that writes it, as in Model Explorer's ONNX reader. `graph` is from graph_json(); if
// it is empty or does not name the node, the tensor's name is used.
std::string render_model_explorer(const std::string& json, const std::string& graph = "");

}  // namespace vernier
