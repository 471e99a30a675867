#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// What a batch norm does to each channel in eval mode.
struct BatchNorm {
  std::vector<double> mean, variance, weight, bias;
  double epsilon = 1e-5;
  std::size_t channels() const { return mean.size(); }
};

// Numbers that float32 arithmetic can only come close to: `bounds` says how close.
struct Expected {
  std::vector<double> values;
  std::vector<double> bounds;
};

// A weight with the batch norm behind it multiplied in, computed in float64. `axis` is the weight's
// axis of output channels; in a grouped transposed convolution they lie along axis 1, group by
// group along axis 0. Nothing if the channels are not as many as the batch norm's.
std::optional<Expected> fold_weight(const TensorView& weight, int axis, const BatchNorm& norm);

// The bias likewise; without one (empty) it is zero.
std::optional<Expected> fold_bias(std::span<const double> bias, const BatchNorm& norm);

}  // namespace vernier
