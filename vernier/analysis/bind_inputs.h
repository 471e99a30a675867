#pragma once

#include <span>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// How one input of a second model is made from the sample that was drawn for the first.
struct InputBinding {
  int source = 0;                // index into the sample
  DType dtype = DType::f32;      // what it is converted to
  std::vector<int> permutation;  // of the axes; empty: as it is
  bool operator==(const InputBinding&) const = default;
};

struct InputBindings {
  std::vector<InputBinding> inputs;   // one for each input of the second model, in its order
  std::vector<std::string> warnings;  // what was permuted or matched by position
};

// Finds, for each of `targets` (the other model's inputs), the one among `sources` (the inputs the
// samples are drawn for) that feeds it: by name, or by position when no name is shared and the
// counts agree. An image input that one model wants as NCHW and the other as NHWC is permuted.
// Throws Error, with both lists, when an input has no counterpart.
InputBindings bind_inputs(std::span<const TensorSpec> sources, std::span<const TensorSpec> targets);

// The second model's inputs: the same values, in its order, dtypes and layout.
std::vector<Tensor> apply_bindings(const InputBindings& bindings,
                                   std::span<const TensorSpec> targets,
                                   std::span<const Tensor> sample);

}  // namespace vernier
