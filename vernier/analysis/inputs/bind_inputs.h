#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// How one input of a second model is made from the sample that was drawn for the first.
struct InputBinding {
  int source = 0;                // index into the sample; -1: `values`
  DType dtype = DType::f32;      // what it is converted to
  std::vector<int> permutation;  // of the axes; empty: as they are
  // Where the ranks differ: the source's axis for each of the target's, -1 for a new one of size 1.
  // Source axes that are not listed have size 1.
  std::optional<std::vector<int>> squeezed_axes = {};
  std::vector<double> values = {};  // of an input that only the second model has
  bool operator==(const InputBinding&) const = default;
};

struct InputBindings {
  std::vector<InputBinding> inputs;   // one for each input of the second model, in its order
  std::vector<std::string> warnings;  // what was permuted, squeezed or matched by position
};

// Finds, for each of `targets` (the reference's inputs), the one among `sources` (the candidate's,
// which the samples are drawn for) that feeds it: as `io` says, by name, by a constant, or by
// position among those that are left, if they are as many and agree in kind and shape. An image
// that one model wants as NCHW and the other as NHWC is permuted; axes of size 1 that one side
// lacks are added or removed. TorchScript says neither rank nor dtype: integers stay integers.
// Throws Error, with both lists, when an input has no counterpart or `io` names none.
InputBindings bind_inputs(std::span<const TensorSpec> sources, std::span<const TensorSpec> targets,
                          const IoMapping& io = {});

// The sources, with the size of each dynamic dim that is static in the target.
std::vector<TensorSpec> with_static_dims(std::span<const TensorSpec> sources,
                                         std::span<const TensorSpec> targets,
                                         const InputBindings& bindings);

// The second model's inputs: the same values, in its order, dtypes and layout.
std::vector<Tensor> apply_bindings(const InputBindings& bindings,
                                   std::span<const TensorSpec> targets,
                                   std::span<const Tensor> sample);

}  // namespace vernier
