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

namespace vernier {

// The name that `name` stands for in the other model, which says what `exists` there: itself, or
// what is left of it without the suffix that a quantizer appended ("conv1_DequantizeLinear_Output",
// "fc.weight_quantized").
Counterpart match_by_name(const std::function<bool(const std::string&)>& exists,
                          const std::string& name);

// Which output of the reference belongs to which of the candidate.
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

// Pairs outputs by name. Where no name is in both models, or the reference's outputs have no names
// of their own (`positional`), those in the same place are paired if there are as many.
OutputPairing pair_outputs(std::span<const std::string> reference,
                           std::span<const std::string> candidate, bool positional = false);

// The same for outputs as they were computed: as `mapped` says (the reference's name: the
// candidate's) and by name; where no name is shared, by position those that are left, if they are
// as many and agree in kind and, but for axes of size 1, in shape. (Beside outputs of the same
// name, one of another name is missing, which fails.) Throws Error where `mapped` names none of
// them.
OutputPairing pair_outputs(std::span<const Tensor> reference, std::span<const Tensor> candidate,
                           const std::map<std::string, std::string>& mapped,
                           bool positional = false);

// Says that two outputs are paired only because they stand in the same place.
std::string position_warning(const std::string& reference, const std::string& candidate);

// Says that outputs of the same names are in another order, which matters to those who take them by
// position; empty where they are not.
std::string order_warning(const OutputPairing& pairing, std::span<const std::string> reference);

// A layer of the reference, as it is aligned.
struct Layer {
  std::string name;
  std::string type = "";
  bool is_output = false;   // of a model whose outputs may be told by their position
  std::string source = "";  // the line that calls it, where that is known
  bool operator==(const Layer&) const = default;
};

// A tensor of the candidate, as layers are aligned with it.
struct CandidateTensor {
  std::string name;                 // as a probe shows it; empty: nothing can be compared with it
  std::string layer = "";           // dotted path of the layer whose code made it; empty: unknown
  bool layer_is_metadata = false;   // told by the node's metadata, not by a name
  bool layer_is_recalled = false;   // by the metadata that a node of this tensor's name had
  std::string source = "";          // the line of code that it comes from, where that is known
  std::vector<std::size_t> inputs;  // the tensors in the same list that it is computed from
  bool is_input = false;            // of the model
  bool is_output = false;
  bool is_activated = false;       // by a function that was fused into the operator that writes it
  std::optional<int> result = {};  // of a recurrent operator, which it hands on
  bool is_moved = false;  // its elements are those of its first input, in another shape or order
  bool operator==(const CandidateTensor&) const = default;
};

// Where a layer is in the candidate.
struct Placement {
  Match match = Match::none;
  std::optional<std::size_t> tensor;  // in the candidate's list
  bool operator==(const Placement&) const = default;
};

// "lstm" of "lstm.0", which may be its first result.
std::string without_result(const std::string& layer);

// "relu_1" is the second call of "relu", if there is no module of that name.
struct ModuleCall {
  std::string module;
  std::size_t number = 0;
};
ModuleCall module_call(const std::string& layer);

// Whether metadata says that another module than the layer's made the tensor. Newer exporters call
// tensors "linear" and "relu": the name alone proves nothing then.
bool is_elsewhere(const CandidateTensor& tensor, const Layer& layer);

// Places layers by what names say, without running anything: by a tensor of their own name (that of
// a first output, "lstm.0", is the layer's too) that is of no other module and, of a module, no
// input of the model (whose argument may have the module's name), by the exporter's scope, where
// the last tensor that leaves the scope is the layer's output, and outputs by their position.
std::vector<Placement> align(std::span<const Layer> layers,
                             std::span<const CandidateTensor> tensors);

}  // namespace vernier
