#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "vernier/tensor/tensor.h"

namespace vernier {

// How a model's output becomes one embedding for each sample.
enum class Pooling {
  cls,   // [samples, tokens, dims]: token 0
  mean,  // [samples, tokens, dims]: the mean over tokens
  gap,   // [samples, channels, height, width]: the mean over height and width
  none,  // [samples, dims]: as it is
};

std::optional<Pooling> parse_pooling(std::string_view name);  // "cls", "mean", "gap", "none"
std::string_view pooling_name(Pooling pooling);
std::span<const std::string_view> pooling_names();

// What an output of this shape can only mean: none for [samples, dims], cls for
// [samples, tokens, dims]. Any other shape is an Error that asks for a choice.
Pooling default_pooling(const TensorView& output);

// Embeddings [samples, dims] in float32; means are summed in float64. A shape that the pooling is
// not for is an Error.
Tensor pool(const TensorView& output, Pooling pooling);

}  // namespace vernier
