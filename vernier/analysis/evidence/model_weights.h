#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vernier/model/index.h"
#include "vernier/model/quantizer.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

class Runner;
struct WatchedTensor;

// Per-channel operation behind a layer: y = factor * x + shift.
struct ChannelScale {
  int axis = -1;
  std::vector<double> factors;
  std::vector<double> shifts = {};  // empty if not known
};

// One weight as a model computes with it.
struct ModelWeight {
  std::string name;
  Shape shape;  // of a float weight; empty if quantized
  DType stored = DType::f32;
  std::optional<Quantizer> quantizer;
  std::function<Tensor()> read;  // converts to float32
  // What may be folded into the weight: a batch norm, products and sums behind its only reader,
  // each entry with one operator more than the one before; then the same with the scalar factors of
  // what the reader multiplies by the weight.
  std::vector<ChannelScale> folds;
  std::vector<double> bias = {};     // of its only reader; empty if it has none or it is computed
  std::vector<std::string> aliases;  // names that the other model may use for it
  std::optional<int> output_axis;    // of a matrix; nullopt if unknown or its readers disagree
  // The tensor that its only reader multiplies by it; of a parameter, the path of the module that
  // holds its layer. Empty if unknown.
  std::string input = {};
  bool convolves = false;   // a Conv reads it
  bool transposes = false;  // a ConvTranspose reads it
  bool is_blocked = false;  // stored in ONNX Runtime's NCHWc blocks; not compared
};

// The weights of a model that have two axes or more. With `any_table` all float tables, as any
// table of a reference may be a weight in the candidate; otherwise only those that are read as a
// weight. The index must outlive them.
std::vector<ModelWeight> weights_of(const ModelIndex& index, bool any_table);

// The parameters that a runner shows, those of recurrent layers joined as in ONNX; a batch norm
// that runs right behind a layer may be folded into it. Empty if there are batch norms and the
// runner does not watch its leaves. The runner must outlive them.
std::vector<ModelWeight> parameters_of(const Runner& runner);

// The leaves that the runner shows, in call order. If it shows operators, that of a convolution,
// linear layer or batch norm is named and typed as the leaf that calls it.
std::vector<WatchedTensor> leaves_of(const Runner& runner);

}  // namespace vernier
