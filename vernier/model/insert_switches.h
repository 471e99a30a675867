#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/model/quantization.h"

namespace vernier {

// The operators of switches: domain, names and attributes. The first input is the float tensor; the
// second, where the model has a quantizer there, what that makes of it. `switches` are the indices
// of what the node stands for: the second input is passed on where all are as in the file.
inline constexpr std::string_view switch_domain = "vernier.switch";
inline constexpr std::string_view switch_op = "Switch";  // one input
inline constexpr std::string_view choice_op = "Choice";  // two, of float32
inline constexpr std::string_view choice_f16_op = "ChoiceFloat16";
inline constexpr std::string_view choice_bf16_op = "ChoiceBFloat16";
inline constexpr std::string_view switch_attribute = "switches";    // ints
inline constexpr std::string_view role_attribute = "role";          // int, a SwitchRole
inline constexpr std::string_view clip_low_attribute = "clip_low";  // of a folded Relu or Clip
inline constexpr std::string_view clip_high_attribute = "clip_high";

// A quantizer that can be switched.
struct Switch {
  enum class Kind { activation, weight };
  Kind kind = Kind::activation;
  std::string name;  // of the activation, as users know it, or of the stored weight
  std::string node;  // that computes the activation, or reads the weight; empty: a graph input
  std::string op;    // its operator
  std::optional<Quantizer> in_file;  // nothing: dynamic, or the file has none
  bool is_in_file = false;           // whether it can be set as in the file
  bool is_dynamic = false;           // the file computes its scale from each tensor
  std::string reader = {};           // of a weight: which input of which node reads it
  int reader_input = -1;
  int channel_axis = 0;                  // of a weight: its output channels; -1: the last
  std::optional<RealRange> folded = {};  // the Relu or Clip that the quantizer stands for
};

// What is quantized and has no switch: it is always as in the file.
struct Unswitched {
  enum class Reason { no_float_counterpart, unknown_operator };
  Reason reason = Reason::unknown_operator;
  std::string subject;  // a weight, an activation or a node
  bool operator==(const Unswitched&) const = default;
};

// A model with switches in it. Nothing else has changed.
struct SwitchedModel {
  Model model;
  std::vector<Switch> switches;
  std::vector<Unswitched> unswitched;
};

// An input of a node, by the node's label.
struct NodeInput {
  std::string node;
  int input = 0;
  bool operator==(const NodeInput&) const = default;
};

// Where a quantizer would stand in a float model: on an activation, a graph input or a weight.
struct SwitchPoint {
  std::string tensor;
  std::vector<NodeInput> readers = {};  // that would read it quantized; empty: all of them
};

// Puts a switch at each point of the main graph: none of them is as in a file. Throws Error for a
// tensor or reader that the model does not have.
SwitchedModel insert_switches(const Model& float_model, std::span<const SwitchPoint> points);

// What the float model has in place of what is quantized, in the order of the Quantization.
struct FloatCounterparts {
  // The Relu or Clip that the model leaves to an activation's quantizer: what it lets through.
  std::vector<std::optional<RealRange>> folded;
  // The float weight in the shape of the stored one; nothing: unknown.
  std::vector<std::optional<Tensor>> weights;
  // What the operator that reads the weight may add in float, where it stores its bias as integers:
  // the nearest to that is taken.
  std::vector<std::vector<Tensor>> biases;
};

// The bias that differs least from the stored one; null if none has its size.
const Tensor* nearest_bias(std::span<const Tensor> biases, const TensorView& stored);

// Puts a switch at each quantizer of a quantized model, of which `quantization` was found.
SwitchedModel insert_switches(const ModelIndex& quantized_model, const Quantization& quantization,
                              const FloatCounterparts& counterparts);

// The model with all of its switches off for good: one of ONNX's own operators, that computes with
// the float weights. What only the quantizers read is gone.
Model switched_off(SwitchedModel switched);

}  // namespace vernier
