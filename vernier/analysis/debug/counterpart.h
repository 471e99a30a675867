#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "vernier/analysis/debug/quantization_noise.h"
#include "vernier/model/model.h"
#include "vernier/model/quantization.h"

namespace vernier_onnx {
class NodeProto;
}

namespace vernier {

// How a tensor of the float model was recognised.
enum class CounterpartMatch { none, name, suffix, topology, value };
std::string_view counterpart_match_name(CounterpartMatch match);

struct Counterpart {
  std::string tensor;  // of the float model; empty: none was found
  CounterpartMatch match = CounterpartMatch::none;
  bool operator==(const Counterpart&) const = default;
};

// Finds the tensors of a float model that belong to those of a quantized one: by name, by name
// without what quantizers append, then by the node that computes or reads them.
class CounterpartFinder {
 public:
  explicit CounterpartFinder(const Model& float_model);

  Counterpart activation(const QuantizedActivation& activation) const;
  Counterpart tensor(const std::string& name) const;
  Counterpart weight(const QuantizedWeight& weight) const;

  // The weight itself, in float32. Throws Error if there is none of that name.
  Tensor read_weight(const std::string& name) const;
  // Of a tensor that a Relu or a Clip with constant bounds writes.
  std::optional<ClipRange> clip_range(const std::string& tensor) const;
  bool is_input(const std::string& tensor) const { return inputs_.contains(tensor); }
  const std::unordered_set<std::string>& weights() const { return weights_; }

 private:
  std::optional<ClipRange> clip_range_of(const vernier_onnx::NodeProto& node) const;
  Counterpart by_name(const std::unordered_set<std::string>& names, const std::string& name) const;

  const Model& model_;
  std::unordered_set<std::string> tensors_;  // node outputs and inputs
  std::unordered_set<std::string> inputs_;
  std::unordered_set<std::string> weights_;  // initializers and constants
  std::unordered_map<std::string, std::vector<std::string>> outputs_of_;  // by node name
  std::unordered_map<std::string, std::vector<std::string>> inputs_of_;
  std::unordered_map<std::string, std::vector<std::string>> inputs_by_output_;
  std::unordered_map<std::string, ClipRange> clip_ranges_;
};

}  // namespace vernier
