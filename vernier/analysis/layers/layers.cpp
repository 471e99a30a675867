#include "vernier/analysis/layers/layers.h"

namespace vernier {

std::string_view alignment_name(Alignment alignment) {
  switch (alignment) {
    case Alignment::name: return "name";
    case Alignment::scope: return "scope";
    case Alignment::metadata: return "metadata";
    case Alignment::value: return "value";
    case Alignment::position: return "position";
    case Alignment::fused: return "fused";
    case Alignment::elided: return "elided";
    case Alignment::unmatched: return "unmatched";
  }
  return "";
}

}  // namespace vernier
