#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/check/graphs.h"
#include "vernier/data/preprocess.h"

namespace vernier {

// What the first operators of a graph do to the values of an image: value * scale + shift, one
// number for each channel or one for all.
struct ImageGraph {
  ImageInput input;
  std::vector<double> scale{1};
  std::vector<double> shift{0};
  bool reverses_channels = false;
  std::string last_node;  // that is part of it; empty if none is

  // The mean and deviation that this is the same as, in the units of the input.
  std::vector<double> mean() const;
  std::vector<double> std() const;
  bool rescales() const;    // divides by 255, and nothing else
  bool normalises() const;  // takes a mean off, or divides by something else
};

// The first input that is a batch of images; nothing if there is none.
std::optional<ImageGraph> read_image_graph(const Graphs& graphs);

}  // namespace vernier
