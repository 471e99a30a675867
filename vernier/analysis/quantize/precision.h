#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vernier {

// How the operands of quantized operators are stored.
struct QuantizedPrecision {
  std::string name;         // as given by --precision
  int weight_bits = 8;      // 4, 8 or 16
  int activation_bits = 8;  // 8 or 16; 0 to quantize weights only
  bool dynamic = false;     // activations are quantized at run time, without calibration
  bool needs_calibration() const { return activation_bits > 0 && !dynamic; }
  bool operator==(const QuantizedPrecision&) const = default;
};

// "int8", "w8a8", "w8a16", "w16a16", "w8", "int4", "w4a16", "dynamic". Throws Error for others.
QuantizedPrecision parse_quantized_precision(std::string_view name);
std::vector<std::string> quantized_precision_names();

}  // namespace vernier
