#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "vernier/report/document.h"

namespace vernier {

// The text of a non-finite number in every report: "inf", "-inf" or "nan".
std::string_view nonfinite_name(double value);

std::string format_decibels(double value);     // "42.13"
std::string format_scientific(double value);   // "1.234e-05", "0"
std::string format_significant(double value);  // six significant digits, for cosines and shares

std::string format_bytes(std::int64_t bytes);                         // "0 B", "12.3 kB", "1.50 GB"
std::string format_count(std::int64_t count, std::string_view noun);  // "1 array", "2 arrays"

// The number in an fmt format such as "{:.2f}", or the name of a non-finite one.
std::string format_finite(std::string_view format, double value);

// The texts of all items, with commas.
template <typename Items, typename Text>
std::string joined(const Items& items, const Text& text, std::string_view separator = ", ") {
  std::string all;
  for (const auto& item : items) {
    if (&item != &*std::begin(items)) all += separator;
    all += text(item);
  }
  return all;
}

// The value as a cell; "-" if there is none.
template <typename Value, typename Format>
Cell cell_of(const std::optional<Value>& value, const Format& format) {
  return value ? Cell(format(*value)) : no_value();
}

// Formats a metric's value by the metric's name: as decibels, scientific or with significant
// digits.
std::string format_metric(std::string_view metric, double value);

// SQNRs that reports colour differently: above the first little is lost, below the second much.
inline constexpr double good_db = 40, fair_db = 20;

// Tone::good above `good`, Tone::fair from `fair` up, else (and for NaN) Tone::bad.
Tone decibel_tone(double value, double good = good_db, double fair = fair_db);

}  // namespace vernier
