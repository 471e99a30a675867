#pragma once

#include <optional>
#include <span>
#include <string>

namespace vernier {

struct SparklineOptions {
  double highest_db = 60;  // value of the highest bar
  int width = 60;          // largest number of bars
};

// Decibels along a network as a line of bars, lowest at 0 dB: "▇▇▆▃▃▂". If there are more values
// than `width`, each bar is the minimum of a range of values. Missing values leave a gap. Empty if
// fewer than three values are known.
std::string sparkline(std::span<const std::optional<double>> decibels,
                      const SparklineOptions& options = {});

}  // namespace vernier
