#include "vernier/report/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace vernier {
namespace {

constexpr std::array bars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::ptrdiff_t least_values = 3;

// NaN gets the lowest bar.
const char* bar(double decibels, double highest_db) {
  const double share = std::isnan(decibels) ? 0 : std::clamp(decibels / highest_db, 0.0, 1.0);
  return bars[std::min(bars.size() - 1, static_cast<std::size_t>(share * bars.size()))];
}

}  // namespace

std::string sparkline(std::span<const std::optional<double>> decibels,
                      const SparklineOptions& options) {
  const auto known =
      std::ranges::count_if(decibels, [](const auto& value) { return value.has_value(); });
  if (known < least_values) return "";
  const std::size_t count = decibels.size();
  const std::size_t columns = std::min<std::size_t>(count, static_cast<std::size_t>(options.width));
  std::string line;
  for (std::size_t column = 0; column < columns; ++column) {
    std::optional<double> least;
    for (std::size_t i = column * count / columns; i < (column + 1) * count / columns; ++i) {
      if (!decibels[i]) continue;
      const double value = std::isnan(*decibels[i]) ? -INFINITY : *decibels[i];
      least = std::min(least.value_or(INFINITY), value);
    }
    line += least ? bar(*least, options.highest_db) : " ";
  }
  return line;
}

}  // namespace vernier
