#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

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

// Sizes for the dynamic axes to try in turn: mostly 1 works; images and audio need more.
std::vector<std::vector<std::int64_t>> size_candidates(std::span<const DynamicAxis> axes);

}  // namespace vernier
