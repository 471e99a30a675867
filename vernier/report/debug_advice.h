#pragma once

#include <string>
#include <vector>

#include "vernier/analysis/debug.h"

namespace vernier {

// "widen 2.1x: +9.4 dB", or nothing when no other range would help by half a decibel.
std::string range_advice(const DebugActivation& activation);

// Activations that a float node would help most: by what their node adds by itself, worst first.
std::vector<DebugActivation> by_introduced_error(const DebugResult& result);

// The result in a few plain sentences.
std::string conclusion(const DebugResult& result);

// Names of the nodes to keep in float first, at most `count`.
std::vector<std::string> nodes_to_keep(const DebugResult& result, std::size_t count);

}  // namespace vernier
