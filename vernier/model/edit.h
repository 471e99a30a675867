#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/tensor/name_map.h"

namespace vernier {

// A pass-through node that shows a tensor as it is produced: domain, operator and the attribute
// that holds the tensor's name.
inline constexpr std::string_view probe_domain = "vernier";
inline constexpr std::string_view probe_op = "Probe";
inline constexpr std::string_view probe_attribute = "tensor";
// The same with a second input, of float32, that is shown too; and the attribute with its name.
inline constexpr std::string_view pair_probe_op = "PairProbe";
inline constexpr std::string_view beside_attribute = "beside";
// What stands before a probed tensor's name in the name of the tensor that its probe reads.
inline constexpr std::string_view probed_prefix = "vernier.probed:";

struct UnwatchedTensor {
  std::string name;
  std::string reason;
  bool operator==(const UnwatchedTensor&) const = default;
};

// Tensors that are shown just before another one: by the name of the other, and with its probe.
using PairedTensors = NameMap<std::string>;

struct Probes {
  std::vector<std::string> watched;  // in graph order
  PairedTensors beside = {};
  std::vector<UnwatchedTensor> unwatched;
  bool operator==(const Probes&) const = default;
};

// The name that a probe gives a tensor: its own where it is the only one of that name in the model,
// or in the main graph; else with the path of the subgraph in front.
class TensorLabels {
 public:
  explicit TensorLabels(const vernier_onnx::GraphProto& graph);
  std::string operator()(const std::string& path, const std::string& tensor) const;

 private:
  std::unordered_map<std::string, int> definitions_;
};

// Tensors that nodes write, in the main graph and inside subgraphs, by the names that probes give
// them: the plain name where it is the only one, else "loop_1.body/name".
std::vector<std::string> tensor_names(const Model& model);

// Puts a probe behind every node output whose name `wanted` accepts. Constants are not probed (that
// would hide from operators that they are constant), nor is what is no tensor; both are listed as
// unwatched. Tensors `beside` another one, which must be there until then, get no probe of their
// own.
Probes insert_probes(
    Model& model,
    const std::function<bool(const std::string&)>& wanted = [](const auto&) { return true; },
    const PairedTensors& beside = {});

// Takes the probe of that name out again.
void remove_probe(Model& model, const std::string& tensor);

// Makes tensors of the main graph outputs of the model. Throws Error for unknown names.
void expose_outputs(Model& model, std::span<const std::string> tensors);

// The spec of an input that takes tensors like this one.
TensorSpec spec_of(const TensorView& tensor);

// The part of the main graph that computes `outputs` from `inputs`, as a model of its own. Throws
// Error when the outputs need something that is neither among the inputs nor a weight.
Model extract_subgraph(const Model& model, std::span<const TensorSpec> inputs,
                       std::span<const std::string> outputs);

}  // namespace vernier
