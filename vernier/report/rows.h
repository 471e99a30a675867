#pragma once

#include <string>

namespace vernier {

// A result for other people's tools, made from its JSON: one row for each output, tensor, layer,
// weight, array, finding, metric or configuration. All three say so where the run was interrupted.

// RFC 4180: the kind of row, then every number and text that rows have, in the JSON's words.
std::string render_csv(const std::string& json);

// A test suite: the verdict and every row is a test case. A row fails that breaks a limit or
// exceeds its tolerance, and a finding that is an error.
std::string render_junit(const std::string& json);

// Node data of Google's Model Explorer: a figure for each tensor of the candidate's graph, under
// the name of the node that writes it, by which its reader of ONNX files knows it, as far as the
// graph (JSON of graph_json, or empty) tells, else under the tensor's.
std::string render_model_explorer(const std::string& json, const std::string& graph = "");

}  // namespace vernier
