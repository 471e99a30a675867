#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vernier/report/document.h"

namespace vernier {

// "inf", "-inf" or "nan": how non-finite numbers are written everywhere.
std::string_view nonfinite_name(double value);

std::string format_decibels(double value);     // "42.13"
std::string format_scientific(double value);   // "1.234e-05", "0"
std::string format_significant(double value);  // six significant digits, for cosines and shares

std::string format_bytes(std::int64_t bytes);                         // "0 B", "12.3 kB", "1.50 GB"
std::string format_count(std::int64_t count, std::string_view noun);  // "1 array", "2 arrays"

// The text of a metric by its name: decibels, scientific or significant digits.
std::string format_metric(std::string_view metric, double value);

// Above `good` green, from `fair` up yellow, else (NaN too) red.
Tone decibel_tone(double value, double good = 40, double fair = 20);

}  // namespace vernier
