#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/model/quantization.h"
#include "vernier/model/unswitched.h"

namespace vernier {

// The custom operators of switches. The first input is the float tensor; the second, if the model
// has a quantizer there, is the quantized tensor. The attribute `switches` lists the indices of the
// node's switches: the second input is passed on if all of them are set as in the file.
inline constexpr std::string_view switch_domain = "vernier.switch";
inline constexpr std::string_view switch_op = "Switch";  // one input
inline constexpr std::string_view choice_op = "Choice";  // two float32 inputs
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
  std::string node;  // computes the activation, or reads the weight; empty for a graph input
  std::string op;    // operator of `node`
  std::optional<Quantizer> in_file;      // nullopt if dynamic, or if the file has no quantizer here
  bool is_in_file = false;               // whether the file has a quantizer here
  bool is_dynamic = false;               // the model computes the scale from each tensor
  std::string reader = {};               // weights: the node that reads it
  int reader_input = -1;                 // weights: which input of `reader` it is
  int channel_axis = 0;                  // weights: axis of the output channels; -1 is the last
  std::optional<RealRange> folded = {};  // range of the Relu or Clip folded into the quantizer
};

// A model with switches inserted, otherwise unchanged.
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

// A place for a quantizer in a float model: an activation, a graph input or a weight.
struct SwitchPoint {
  std::string tensor;
  std::vector<NodeInput> readers = {};  // readers of the quantized tensor; empty for all readers
};

// Inserts a switch at each point of the main graph, with is_in_file false. Throws Error for a
// tensor or reader that the model does not have, and for two switches on all readers of one tensor.
SwitchedModel insert_switches(const ModelIndex& float_model, std::span<const SwitchPoint> points);

// The float counterparts of quantized activations and weights, in the order of the Quantization.
struct FloatCounterparts {
  // For each activation, the range of the Relu or Clip folded into its quantizer, if any.
  std::vector<std::optional<RealRange>> folded;
  // For each weight, the float weight in the shape of the stored one; nullopt if unknown.
  std::vector<std::optional<Tensor>> weights;
  // For each weight, the candidates for the float bias of the operator that reads it, if that
  // stores its bias as integers. nearest_bias() picks one.
  std::vector<std::vector<Tensor>> biases;
};

// The bias with the least squared difference from the stored one; null if none has its size.
const Tensor* nearest_bias(std::span<const Tensor> biases, const TensorView& stored);

// Throws Error if the weights in float32, which the model with switches holds in memory, would be
// more than ONNX Runtime takes from there, 2 GB.
void require_room_for_floats(const ModelIndex& quantized_model, const Quantization& quantization);

// Inserts a switch at each quantizer of a quantized model. `quantization` is what
// find_quantization() returned for it.
SwitchedModel insert_switches(const ModelIndex& quantized_model, const Quantization& quantization,
                              FloatCounterparts counterparts);

// The model with every switch replaced by its float input: it has standard operators only and
// computes with the float weights. Nodes that only the quantizers needed are removed.
Model switched_off(SwitchedModel switched);

}  // namespace vernier
