#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/layers/layers.h"
#include "vernier/analysis/pairing/by_value.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// The side that is trusted, opened so that it shows its layers.
struct LayersReference {
  std::unique_ptr<Runner> runner;
  std::unique_ptr<Runner> truth;  // the same in float64; null unless it was asked for
  std::vector<Layer> layers;      // in the order in which they run
  std::vector<std::string> warnings;
  bool is_recorded = false;
};

// Throws Error if there is no such file, or for a truth that only PyTorch can tell.
LayersReference open_layers_reference(const LayersOptions& options);

// "not compared, it did not run: a, b, c, d, e and 7 more"
std::string not_compared(std::string_view reason, std::span<const std::string> layers);

}  // namespace vernier
