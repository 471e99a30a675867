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

// Numbers that float32 arithmetic only comes close to: each rounding on the way adds half an ulp of
// a magnitude at most.
struct Expected {
  std::vector<double> values;
  std::vector<double> magnitudes;  // empty: those of the values
  double roundings = 0;
  // How far from its value an element may be.
  double bound(std::size_t index) const;
};

// A weight with the batch norm behind it multiplied in, computed in float64. `axis` is the weight's
// axis of output channels; in a grouped transposed convolution they lie along axis 1, group by
// group along axis 0. Nothing if the channels are not as many as the batch norm's.
std::optional<Expected> fold_weight(const TensorView& weight, int axis, const BatchNorm& norm);

// The bias likewise; without one (empty) it is zero.
std::optional<Expected> fold_bias(std::span<const double> bias, const BatchNorm& norm);

}  // namespace vernier
