#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// Probe: a pass-through node that shows a tensor as it is produced. Its domain, its operator and
// the attribute that holds the tensor's name.
inline constexpr std::string_view probe_domain = "vernier";
inline constexpr std::string_view probe_op = "Probe";
inline constexpr std::string_view probe_attribute = "tensor";
// PairProbe: a probe after a quantizer that also shows the quantizer's float32 input, which is its
// second input. The attribute holds the name of that input.
inline constexpr std::string_view pair_probe_op = "PairProbe";
inline constexpr std::string_view before_attribute = "before";
// CopyingProbe: a probe whose output has its own memory. It is used for a tensor that shares memory
// with another one (a Reshape), so that writing into one does not change the other.
inline constexpr std::string_view copying_probe_op = "CopyingProbe";
// Mark: passes its input on and records the node that is about to run or has just run; the
// attributes hold that node's name and operator. The second input and output is a token that is
// passed from mark to mark, so that the nodes run in the order of their marks.
inline constexpr std::string_view mark_op = "Mark";
inline constexpr std::string_view marked_node_attribute = "node";
inline constexpr std::string_view marked_op_attribute = "op";
// A probe writes the tensor's original name, and reads a tensor with this prefix before the name.
inline constexpr std::string_view probed_prefix = "vernier.probed:";

struct Probes {
  std::vector<std::string> watched;  // in graph order
  std::vector<UnwatchedTensor> unwatched;
  bool operator==(const Probes&) const = default;
};

enum class QuantizerProbes {
  separate,
  // One PairProbe shows a quantizer's input and output, if both are wanted, the integers between
  // are not, and nothing else reads the input or the integers. It costs less than two probes.
  paired
};

// Inserts a probe after every node output whose name `wanted` accepts. Constants (kernels treat
// constant inputs differently) and values that are not tensors are not probed, but listed as
// unwatched.
Probes insert_probes(
    Model& model,
    const std::function<bool(const std::string&)>& wanted = [](const auto&) { return true; },
    QuantizerProbes quantizers = QuantizerProbes::separate);

// Removes the probe of that tensor.
void remove_probe(Model& model, const std::string& tensor);

// Inserts a mark before and after every node that reads and writes tensors, including nodes in
// subgraphs. The nodes then run in file order, and the running one is recorded (record_node). Run
// the result without optimisation: marks prevent fusions.
void insert_marks(Model& model);

}  // namespace vernier
