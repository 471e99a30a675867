#include "vernier/analysis/pairing/match.h"

namespace vernier {

std::string_view match_name(Match match) {
  switch (match) {
    case Match::name: return "name";
    case Match::position: return "position";
    case Match::scope: return "scope";
    case Match::metadata: return "metadata";
    case Match::value: return "value";
    case Match::topology: return "topology";
    case Match::fused: return "fused";
    case Match::elided: return "elided";
    case Match::none: return "none";
  }
  return "";
}

}  // namespace vernier
