#pragma once

#include <optional>
#include <string>

namespace vernier {

class ModelIndex;

// A bias whose scale is not that of the products that it is added to.
struct MismatchedBias {
  std::string tensor;  // output of the node that adds the bias
  double ratio = 1;    // scale of the bias / scale of the products
  bool operator==(const MismatchedBias&) const = default;
};

// Integer kernels add the stored bias to sums of products, so quantizers store it with the input's
// scale times the weight's. If most biases of a model obey this rule, a scale of the others was
// changed after calibration; a tool with another rule breaks it everywhere. Returns the first bias
// that breaks the rule; nullopt if none does, or if the model does not follow the rule.
std::optional<MismatchedBias> find_mismatched_bias(const ModelIndex& candidate);

}  // namespace vernier
