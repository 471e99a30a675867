#pragma once

#include <limits>

namespace vernier {

// The range of a Relu's or Clip's output.
struct ClipRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool operator==(const ClipRange&) const = default;
};

}  // namespace vernier
