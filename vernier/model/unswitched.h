#pragma once

#include <string>

namespace vernier {

// Something quantized that has no switch: it is always as in the file.
struct Unswitched {
  enum class Reason { no_float_counterpart, unknown_operator };
  Reason reason = Reason::unknown_operator;
  std::string subject;  // a weight, an activation or a node
  bool operator==(const Unswitched&) const = default;
};

}  // namespace vernier
