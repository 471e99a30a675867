#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/pairing/match.h"
#include "vernier/tensor/tensor.h"
#include "vernier/warning.h"

namespace vernier {

// The name, and the name without a suffix that quantization tools append ("fc.weight_quantized").
std::vector<std::string> quantizer_stems(const std::string& name);

// Finds the counterpart of `name` in the other model, in which `exists` tells which names there
// are: the name itself, or the name without a quantizer's suffix ("conv1_DequantizeLinear_Output",
// "fc.weight_quantized").
Counterpart match_by_name(const std::function<bool(const std::string&)>& exists,
                          const std::string& name);

// A pair of outputs, by their indices.
struct OutputPair {
  std::string name;  // the candidate's
  std::size_t reference = 0;
  std::size_t candidate = 0;
  Match match = Match::name;
  bool operator==(const OutputPair&) const = default;
};

struct OutputPairing {
  std::vector<OutputPair> pairs;  // in the reference's order
  std::vector<std::size_t> only_reference, only_candidate;
  bool operator==(const OutputPairing&) const = default;
};

// Pairs outputs by name. If the models share no name, or the reference's outputs have no names of
// their own (`positional`), pairs them by position if both models have as many.
OutputPairing pair_outputs(std::span<const std::string> reference,
                           std::span<const std::string> candidate, bool positional = false);

// Pairs computed outputs: as `mapped` says (reference's name to candidate's), then by name. If no
// name is shared, pairs the rest by position, if there are as many on both sides and they agree in
// kind (float or not) and, ignoring axes of size 1, in shape. If some names are shared, an output
// of another name stays unpaired and fails as missing. Throws Error if `mapped` names an output
// that does not exist.
OutputPairing pair_outputs(std::span<const Tensor> reference, std::span<const Tensor> candidate,
                           const std::map<std::string, std::string>& mapped,
                           bool positional = false);

// A warning that outputs of the same names are in another order, which matters to callers that take
// them by position; nullopt if the order is the same.
std::optional<Warning> order_warning(const OutputPairing& pairing,
                                     std::span<const std::string> reference);

// A layer of the reference, as alignment sees it.
struct Layer {
  std::string name;
  std::string type = "";
  bool is_output = false;   // an output of the model, which may be paired by position
  std::string source = "";  // the line of code that calls it; empty if unknown
  bool operator==(const Layer&) const = default;
};

// A tensor of the candidate, as alignment sees it.
struct CandidateTensor {
  std::string name;                 // as a probe shows it; empty if it cannot be compared
  std::string layer = "";           // dotted path of the module that computes it; empty if unknown
  bool layer_is_metadata = false;   // `layer` is from the node's metadata, not from a name
  bool layer_is_recalled = false;   // `layer` is from the metadata of a former node of this name
  std::string source = "";          // the line of code that it comes from; empty if unknown
  std::string op = "";              // of the node that writes it, if it is ONNX's
  std::vector<std::size_t> inputs;  // indices, in the same list, of the tensors it is computed from
  bool is_input = false;            // of the model
  bool is_output = false;
  bool is_activated = false;       // by a function that was fused into the operator that writes it
  std::optional<int> result = {};  // index of the recurrent operator's result that it passes on
  bool is_moved = false;  // its elements are those of its first input, in another shape or order
  bool operator==(const CandidateTensor&) const = default;
};

// The tensor of the candidate that belongs to a layer.
struct Placement {
  Match match = Match::none;
  std::optional<std::size_t> tensor;  // index in the candidate's list
  bool operator==(const Placement&) const = default;
};

// "lstm" for "lstm.0", which may be the first result of lstm; other names unchanged.
std::string without_result(const std::string& layer);

// "relu_1" is the second call of "relu", if no module has that name.
struct ModuleCall {
  std::string module;
  std::size_t number = 0;
};
ModuleCall module_call(const std::string& layer);

// Whether metadata says that a module other than the layer's computes the tensor. Newer exporters
// name tensors "linear" and "relu", so the name alone proves nothing.
bool is_elsewhere(const CandidateTensor& tensor, const Layer& layer);

// Places layers by names, without running anything. First by a tensor of the layer's name, or of
// its first result ("lstm.0"), that belongs to no other module and, for a module, is not an input
// of the model (an argument may have the module's name). Then by the exporter's scope: the last
// tensor that leaves the scope is the layer's output. Outputs by position. Last, operators of
// PyTorch ("aten.pad") whose counterpart has a kind of its own, such as Resize: by their order in a
// module that has as many of these, each computed from the one before.
std::vector<Placement> align(std::span<const Layer> layers,
                             std::span<const CandidateTensor> tensors);

}  // namespace vernier
