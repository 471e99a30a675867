#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/analysis/evidence/weight_evidence.h"
#include "vernier/model/index.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

class Runner;

// A weight of the reference in the form in which the candidate would hold it unquantized: with the
// same folds and the same axis order.
struct FloatWeight {
  Tensor weight;
  std::vector<Tensor> biases;  // possible biases with these folds; empty if none or unknown
};

// Where a float reference is read: its model, or the runner that shows its parameters. If both are
// null, nothing is known of it.
struct FloatReference {
  const ModelIndex* model = nullptr;
  const Runner* runner = nullptr;
};

// The reference's weights that the candidate holds unchanged, by the candidate's names. With a
// runner, a weight that several nodes read has no biases.
std::map<std::string, FloatWeight> float_weights_of(const FloatReference& reference,
                                                    const ModelIndex& candidate,
                                                    const WeightEvidence& evidence);

}  // namespace vernier
