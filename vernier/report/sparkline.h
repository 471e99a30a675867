#pragma once

#include <optional>
#include <span>
#include <string>

namespace vernier {

struct SparklineOptions {
  double highest_db = 60;  // of the highest bar
  int width = 60;          // most bars
};

// Decibels along a network as a line of bars, 0 dB low: "▇▇▆▃▃▂". Of more values than the width,
// each bar is the least of its part. Values that are missing leave a gap; with fewer than three
// there is no line, but "".
std::string sparkline(std::span<const std::optional<double>> decibels,
                      const SparklineOptions& options = {});

}  // namespace vernier
