#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace vernier {

class ModelIndex;

// An activation function of which the candidate computes fewer than the reference.
struct MissingActivations {
  std::string op;                             // in the reference: "Relu"
  std::int64_t reference = 0, candidate = 0;  // how many each computes
  std::int64_t quantizers = 0;                // quantizers of the candidate that act as one
  std::string tensor;  // a missing one's output in the reference; empty if unknown
  bool operator==(const MissingActivations&) const = default;
};

// Counts the activation functions that the outputs depend on. Operators that can compute each other
// (Erf and Gelu, Relu and Clip) are one kind. A quantizer without negative codes behind a computing
// node counts as a Relu or Clip. nullopt if none is missing, or if fused operators, local functions
// or other subgraphs leave it open.
std::optional<MissingActivations> find_missing_activations(const ModelIndex& reference,
                                                           const ModelIndex& candidate);

// The label of the candidate's first node with another activation function, attribute or small
// constant than the reference's node at the same position. Synthetic inputs may never reach what
// such a node changes (a bound, a mask), so outputs do not show it. Casts between float types and
// constants of another type do not count. Empty if there is none, or if the sequences of operators
// differ in more than activation functions; the form of a GELU is compared in any case.
std::string find_other_node(const ModelIndex& reference, const ModelIndex& candidate);

}  // namespace vernier
