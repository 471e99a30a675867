#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vernier/model/model.h"

namespace vernier {

// Activation functions of one kind that a candidate has fewer of than its reference.
struct MissingActivations {
  std::string op;                             // of the reference, "Relu"
  std::int64_t reference = 0, candidate = 0;  // how many each computes
  std::int64_t quantizers = 0;                // that stand for one more each
  std::string tensor;                         // of the reference, which is missing; empty: unknown
  bool operator==(const MissingActivations&) const = default;
};

// Counts the activation functions that outputs depend on; those that compute each other (Erf and
// Gelu, Relu and Clip) are one kind. A quantizer without negative codes behind a node that computes
// stands for a Relu or Clip. Nothing: none is missing, or fused operators, local functions or other
// subgraphs leave it open.
std::optional<MissingActivations> find_missing_activations(const Model& reference,
                                                           const Model& candidate);

// The first node of the candidate, by its label, that is not what the reference has in its place:
// another activation function, attribute, or small constant. Only of two models with the same
// operators one after the other, but for such functions; "": none, or they are written otherwise.
// What made-up inputs never reach (a bound, a mask) differs without a trace in the outputs. Casts
// between float types do not count, nor do constants of another type.
std::string find_other_node(const Model& reference, const Model& candidate);

}  // namespace vernier
