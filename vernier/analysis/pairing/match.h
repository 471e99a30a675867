#pragma once

#include <string>
#include <string_view>

namespace vernier {

// How a tensor of one model was recognised in the other.
enum class Match {
  name,      // the same name, or the same without what quantizers append
  position,  // the output in the same place
  scope,     // the last tensor under the scope that the exporter named after a module
  metadata,  // the same, where nodes carry their scope as metadata
  value,     // it holds the same values
  topology,  // the node of the same name, or the node that the counterpart's neighbour reads
  fused,     // computed together with a later layer: there is no tensor of its own
  elided,    // it does nothing in eval mode: compared with the tensor that carries its value
  none       // not recognised
};

std::string_view match_name(Match match);

// The tensor of the reference that belongs to one of the candidate.
struct Counterpart {
  std::string tensor;  // empty: none was found
  Match match = Match::none;
  explicit operator bool() const { return match != Match::none; }
  bool operator==(const Counterpart&) const = default;
};

}  // namespace vernier
