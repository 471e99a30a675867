#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// How a candidate's axes lie when it holds the reference's values in another order.
struct LayoutChange {
  // Candidate axis i is reference axis permutation[i]; empty when only the shape differs (a reshape
  // or squeeze: the elements are in the same order).
  std::vector<int> permutation;
  double sqnr_db = 0;  // of the pair once the axes agree
  bool operator==(const LayoutChange&) const = default;
};

// Searches for a layout under which the pair agrees: SQNR of at least `min_sqnr_db`. Tries the same
// element order under another shape, then every permutation of the reference's axes (up to rank 5)
// other than the identity, those that give the candidate's shape before those whose result is read
// in it; the best one wins, the first in lexicographic order among equals. Nothing is found for
// pairs that differ in element count or hold fewer than two elements.
std::optional<LayoutChange> find_layout(const TensorView& reference, const TensorView& candidate,
                                        double min_sqnr_db = 20);

// "squeeze [1,8,1] to [8]", "reshape [2,4] to [8]", "NCHW to NHWC, permutation (0,2,3,1)",
// "permutation (0,2,1), then reshape to [1,8]".
std::string describe_layout(const LayoutChange& layout,
                            std::span<const std::int64_t> reference_shape,
                            std::span<const std::int64_t> candidate_shape);

// A convolution's kernel with all axes behind the first two reversed: what makes a ConvTranspose of
// a Conv, and back.
Tensor flip_kernel(const TensorView& kernel);

}  // namespace vernier
