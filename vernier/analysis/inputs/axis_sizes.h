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

// A dynamic axis: every place where the inputs use the same symbol. Unnamed axes belong together if
// they have the same position in their inputs.
struct DynamicAxis {
  struct Place {
    std::size_t input = 0;
    std::size_t axis = 0;
  };
  std::string name;  // the symbol, or "axis 1" if it has none
  bool named = true;
  bool is_batch = false;  // axis 0 of some input
  std::vector<Place> places;
};
std::vector<DynamicAxis> dynamic_axes(std::span<const TensorSpec> inputs);

// The shape of every input by name, with these sizes of the dynamic axes (in the order of `axes`).
// An axis named by a sum of others ("past + sequence") has the sum of their sizes.
std::map<std::string, Shape> shapes_with(std::span<const TensorSpec> inputs,
                                         std::span<const DynamicAxis> axes,
                                         std::span<const std::int64_t> sizes);

// Sizes of the dynamic axes to try in turn if nothing is known of the inputs: a sequence of one
// token shows little, images and audio need more.
std::vector<std::vector<std::int64_t>> size_candidates(std::span<const DynamicAxis> axes);

// Shapes for inputs whose dynamic axes have no size, by the role of each input: images and audio as
// large as real ones, sequences of several tokens (attention, masks and positions do nothing to a
// single token), batches of one. Returns the first shapes for which `runs` is true, or the last
// tried. Axes with a size in `given` keep it; if no axis has to be sized, returns `given`.
std::map<std::string, Shape> open_shapes(
    std::span<const TensorSpec> inputs, std::span<const InputKind> kinds,
    const std::map<std::string, Shape>& given,
    const std::function<bool(const std::map<std::string, Shape>&)>& runs);

}  // namespace vernier
