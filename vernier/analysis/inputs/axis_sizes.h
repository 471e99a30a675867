#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "vernier/tensor/input_kind.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// A dynamic axis: every place where the inputs have the same symbol. Unnamed ones go together when
// they are at the same position of their inputs.
struct DynamicAxis {
  struct Place {
    std::size_t input = 0;
    std::size_t axis = 0;
  };
  std::string name;  // its symbol, or "axis 1"
  bool named = true;
  bool is_batch = false;  // it is axis 0 of some input
  std::vector<Place> places;
};
std::vector<DynamicAxis> dynamic_axes(std::span<const TensorSpec> inputs);

// The shape of every input by name, its dynamic axes having these sizes (in the order of `axes`).
// An axis that is called by the sum of others ("past + sequence") has the sum of theirs.
std::map<std::string, Shape> shapes_with(std::span<const TensorSpec> inputs,
                                         std::span<const DynamicAxis> axes,
                                         std::span<const std::int64_t> sizes);

// Sizes for the dynamic axes to try in turn, where nothing is known of the inputs: a sequence of
// one token shows little, images and audio need more.
std::vector<std::vector<std::int64_t>> size_candidates(std::span<const DynamicAxis> axes);

// Shapes for inputs whose dynamic axes have no size, by what the inputs are for: pictures and
// sounds as large as real ones, sequences of several tokens, since attention, masks and positions
// do nothing to a single one; batches of one. The first that `runs`, or the last that was tried.
// Axes that the given shapes know have these sizes. Without an axis to size: the given shapes.
std::map<std::string, Shape> open_shapes(
    std::span<const TensorSpec> inputs, std::span<const InputKind> kinds,
    const std::map<std::string, Shape>& given,
    const std::function<bool(const std::map<std::string, Shape>&)>& runs);

}  // namespace vernier
