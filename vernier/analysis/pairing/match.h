#pragma once

#include <string>
#include <string_view>

namespace vernier {

// How a tensor of one model was matched with one of the other.
enum class Match {
  name,      // the same name, or the same without a quantizer's suffix
  position,  // the output at the same position
  scope,     // the last tensor under the scope that the exporter named after a module
  metadata,  // as scope, but the nodes carry their scope as metadata
  value,     // it holds the same values
  topology,  // by node: that of the same name, or the one next to a matched node
  fused,     // computed together with a later layer, so it has no tensor of its own
  elided,    // no operation in eval mode: compared with the tensor that it passes on
  none       // not matched
};

std::string_view match_name(Match match);

// The reference tensor that belongs to a candidate tensor.
struct Counterpart {
  std::string tensor;  // empty if none was found
  Match match = Match::none;
  explicit operator bool() const { return match != Match::none; }
  bool operator==(const Counterpart&) const = default;
};

}  // namespace vernier
