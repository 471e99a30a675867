#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vernier {

struct DebugActivation;

// What to do about the damage, for all activations together. Indices are into them.
struct DebugAdvice {
  std::vector<std::size_t> originators;    // lowest local SQNR first
  std::vector<std::size_t> nodes;          // by what they add by themselves, worst first
  bool is_concentrated = false;            // a tenth of the nodes adds more than half the noise
  std::vector<std::string> keep_in_float;  // the three nodes to keep first
  bool operator==(const DebugAdvice&) const = default;
};

DebugAdvice advise(const std::vector<DebugActivation>& activations);

}  // namespace vernier
