#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// A pass-through node that shows a tensor as it is produced: domain, operator and the attribute
// that holds the tensor's name.
inline constexpr std::string_view probe_domain = "vernier";
inline constexpr std::string_view probe_op = "Probe";
inline constexpr std::string_view probe_attribute = "tensor";
// The same behind a quantizer, with the float32 tensor that went into it as a second input, which
// is shown too; and the attribute with its name.
inline constexpr std::string_view pair_probe_op = "PairProbe";
inline constexpr std::string_view before_attribute = "before";
// The same as a probe, with memory of its own for what it passes on: for a tensor that is another
// one's memory under a new shape, so that what is written into it does not change the other.
inline constexpr std::string_view copying_probe_op = "CopyingProbe";
// A node that passes its input on and records that a node is about to run, or has run; the
// attributes with that node's name and operator. Its second input and output is a token that goes
// from mark to mark: the nodes run in the order of their marks.
inline constexpr std::string_view mark_op = "Mark";
inline constexpr std::string_view marked_node_attribute = "node";
inline constexpr std::string_view marked_op_attribute = "op";
// What stands before a probed tensor's name in the name of the tensor that its probe reads.
inline constexpr std::string_view probed_prefix = "vernier.probed:";

struct Probes {
  std::vector<std::string> watched;  // in graph order
  std::vector<UnwatchedTensor> unwatched;
  bool operator==(const Probes&) const = default;
};

enum class QuantizerProbes {
  separate,
  // One probe shows what goes into a quantizer and what comes out of it, where both are wanted,
  // what is stored in between is not, and nothing else reads either: it costs less than two.
  paired
};

// Puts a probe behind every node output whose name `wanted` accepts. Constants are not probed (that
// would hide from operators that they are constant), nor is what is no tensor; both are listed as
// unwatched.
Probes insert_probes(
    Model& model,
    const std::function<bool(const std::string&)>& wanted = [](const auto&) { return true; },
    QuantizerProbes quantizers = QuantizerProbes::separate);

// Declares the operators above to the model.
void import_probe_domain(vernier_onnx::ModelProto& model);

// Takes the probe of that name out again.
void remove_probe(Model& model, const std::string& tensor);

}  // namespace vernier
