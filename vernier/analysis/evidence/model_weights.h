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

// What each channel is multiplied by, and what is added to it then.
struct ChannelScale {
  int axis = -1;
  std::vector<double> factors;
  std::vector<double> shifts = {};  // empty: not known
};

// One weight as a model computes with it.
struct ModelWeight {
  std::string name;
  Shape shape;  // of a float weight
  DType stored = DType::f32;
  std::optional<Quantizer> quantizer;
  std::function<Tensor()> read;  // in float32
  // What may be folded into it: a batch norm, products and sums behind its only reader, one more
  // each.
  std::vector<ChannelScale> folds;
  std::vector<double> bias = {};     // that its only reader adds; empty: none, or computed
  std::vector<std::string> aliases;  // other names by which the other model may know it
  std::optional<int> output_axis;    // of a matrix, as all that read it do; nothing: not known
  bool transposes = false;           // a ConvTranspose reads it
};

// The weights of a model that have two axes or more. Of a candidate only what computes as a weight;
// with `any_table` every table, since any of a reference may have become one. The index must
// outlive them.
std::vector<ModelWeight> weights_of(const ModelIndex& index, bool any_table);

// The parameters that a runner shows, which must outlive them, those of recurrent layers as ONNX
// has them; a batch norm that runs right behind a layer may be folded into it. None where there are
// batch norms and the runner watches no leaves.
std::vector<ModelWeight> parameters_of(const Runner& runner);

// The leaves that the runner shows, in the order of their calls; where it shows operators, those of
// a convolution, linear layer or batch norm as the leaf that calls them.
std::vector<WatchedTensor> leaves_of(const Runner& runner);

}  // namespace vernier
