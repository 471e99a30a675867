#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "vernier/analysis/pairing/match.h"
#include "vernier/model/model.h"
#include "vernier/model/quantization.h"

namespace vernier {

// Finds the tensors of a float model that belong to those of a quantized one: by name, then by the
// node that computes or reads them.
class CounterpartFinder {
 public:
  explicit CounterpartFinder(const Model& float_model);

  Counterpart activation(const QuantizedActivation& activation) const;
  Counterpart tensor(const std::string& name) const;
  Counterpart weight(const QuantizedWeight& weight) const;

  // The weight itself, in float32. Throws Error if there is none of that name.
  Tensor read_weight(const std::string& name) const;
  bool is_input(const std::string& tensor) const { return inputs_.contains(tensor); }
  const std::unordered_set<std::string>& weights() const { return weights_; }
  const Model& model() const { return model_; }

 private:
  const Model& model_;
  std::unordered_set<std::string> tensors_;  // node outputs and inputs
  std::unordered_set<std::string> inputs_;
  std::unordered_set<std::string> weights_;  // initializers and constants
  std::unordered_map<std::string, std::vector<std::string>> outputs_of_;  // by node name
  std::unordered_map<std::string, std::vector<std::string>> inputs_of_;
  std::unordered_map<std::string, std::vector<std::string>> inputs_by_output_;
};

}  // namespace vernier
