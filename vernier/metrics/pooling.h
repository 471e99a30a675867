#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "vernier/tensor/tensor.h"

namespace vernier {

// How a model's output becomes one embedding per sample.
enum class Pooling {
  cls,   // [samples, tokens, dims]: token 0
  mean,  // [samples, tokens, dims]: the mean over tokens
  gap,   // [samples, channels, height, width]: the mean over height and width
  none,  // [samples, dims]: unchanged
};

std::optional<Pooling> parse_pooling(std::string_view name);  // "cls", "mean", "gap", "none"
std::span<const std::string_view> pooling_names();

// The default for an output's shape: none for [samples, dims], cls for [samples, tokens, dims].
// Throws Error for other shapes, for which the user must choose.
Pooling default_pooling(const TensorView& output);

// Embeddings [samples, dims] in float32; means are summed in float64. Throws Error if the shape
// does not fit the pooling.
Tensor pool(const TensorView& output, Pooling pooling);

}  // namespace vernier
