#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/tensor/tensor.h"
#include "vernier/warning.h"

namespace vernier {

// How one input of a second model is made from a sample that was drawn for the first model.
struct InputBinding {
  int source = 0;                // index into the sample; -1 if `values` are used
  DType dtype = DType::f32;      // the dtype to convert to
  std::vector<int> permutation;  // of the axes; empty if they stay in place
  // Set if the ranks differ: for each of the target's axes the source's axis, or -1 for a new axis
  // of size 1. Source axes that are not listed have size 1.
  std::optional<std::vector<int>> squeezed_axes = {};
  std::vector<double> values = {};  // the constant of an input that only the second model has
  bool operator==(const InputBinding&) const = default;
};

struct InputBindings {
  std::vector<InputBinding> inputs;  // one for each input of the second model, in its order
  std::vector<Warning> warnings;     // what was permuted, squeezed or matched by position
};

// Finds the source of each of `targets` (the reference's inputs) among `sources` (the candidate's
// inputs, which samples are drawn for): as `io` says, by name, by a constant, or by position among
// the inputs that are left, if both models have equally many and these agree in kind and shape. An
// image that one model takes as NCHW and the other as NHWC is permuted; axes of size 1 that one
// side lacks are added or removed. TorchScript declares neither rank nor dtype: integers stay
// integers. Throws Error, with all names, for an input without counterpart or an unknown name in
// `io`.
InputBindings bind_inputs(std::span<const TensorSpec> sources, std::span<const TensorSpec> targets,
                          const IoMapping& io = {});

// The sources, with each dynamic dim set to the target's size if that is static.
std::vector<TensorSpec> with_static_dims(std::span<const TensorSpec> sources,
                                         std::span<const TensorSpec> targets,
                                         const InputBindings& bindings);

// The second model's inputs: the same values, in its order, dtypes and layout.
std::vector<Tensor> apply_bindings(const InputBindings& bindings,
                                   std::span<const TensorSpec> targets,
                                   std::span<const Tensor> sample);

}  // namespace vernier
