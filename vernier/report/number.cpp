#include "vernier/report/number.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace vernier {

std::string_view nonfinite_name(double value) {
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

std::string format_finite(std::string_view format, double value) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value)
                              : std::string(nonfinite_name(value));
}

std::string format_decibels(double value) {
  const std::string text = format_finite("{:.2f}", value);
  return text == "-0.00" ? "0.00" : text;
}

std::string format_scientific(double value) {
  return value == 0 ? "0" : format_finite("{:.3e}", value);
}

std::string format_significant(double value) { return format_finite("{:.6g}", value); }

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<const char*, 5> units = {"kB", "MB", "GB", "TB", "PB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit) value /= 1000;
  return fmt::format("{:#.3g} {}", value, units[unit]);
}

std::string format_count(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string format_metric(std::string_view metric, double value) {
  if (metric.ends_with("_db")) return format_decibels(value);
  if (metric.starts_with("cosine") || metric.ends_with("agreement"))
    return format_significant(value);
  return format_scientific(value);
}

Tone decibel_tone(double value, double good, double fair) {
  return value > good ? Tone::good : value >= fair ? Tone::fair : Tone::bad;
}

}  // namespace vernier
