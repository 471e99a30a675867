#include "vernier/analysis/quantize/precision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vernier/error.h"

namespace vernier {
namespace {

const std::vector<QuantizedPrecision>& precisions() {
  static const std::vector<QuantizedPrecision> table = {
      {"int8", 8, 8}, {"w8a8", 8, 8}, {"w8a16", 8, 16}, {"w16a16", 16, 16},
      {"w8", 8, 0},   {"int4", 4, 0}, {"w4a16", 4, 0},  {"dynamic", 8, 8, true},
  };
  return table;
}

}  // namespace

QuantizedPrecision parse_quantized_precision(std::string_view name) {
  for (const QuantizedPrecision& precision : precisions())
    if (precision.name == name) return precision;
  throw Error(fmt::format("[quantize] --precision {}: expected one of {}", name,
                          fmt::join(quantized_precision_names(), ", ")));
}

std::vector<std::string> quantized_precision_names() {
  std::vector<std::string> names;
  for (const QuantizedPrecision& precision : precisions()) names.push_back(precision.name);
  return names;
}

}  // namespace vernier
