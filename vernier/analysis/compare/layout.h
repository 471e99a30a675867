#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// How the candidate's axes are ordered if it holds the reference's values in another order.
struct LayoutChange {
  // Candidate axis i is reference axis permutation[i]; empty if only the shape differs (a reshape
  // or squeeze: the elements are in the same order).
  std::vector<int> permutation;
  double sqnr_db = 0;  // of the pair once the axes agree
  bool operator==(const LayoutChange&) const = default;
};

// Searches for a layout under which the pair agrees: SQNR of at least `min_sqnr_db`. Tries the same
// element order under another shape and every permutation of the reference's axes (up to rank 5)
// that gives the candidate's shape; if none agrees, every permutation followed by a reshape. The
// best one wins, the first in lexicographic order among equals. nullopt for pairs that differ in
// element count or hold fewer than two elements.
std::optional<LayoutChange> find_layout(const TensorView& reference, const TensorView& candidate,
                                        double min_sqnr_db = 20);

// "squeeze [1,8,1] to [8]", "reshape [2,4] to [8]", "NCHW to NHWC, permutation (0,2,3,1)",
// "permutation (0,2,1), then reshape to [1,8]".
std::string describe_layout(const LayoutChange& layout,
                            std::span<const std::int64_t> reference_shape,
                            std::span<const std::int64_t> candidate_shape);

// A convolution's kernel with all axes after the first two reversed, which converts between Conv
// and ConvTranspose.
Tensor flip_kernel(const TensorView& kernel);

}  // namespace vernier
