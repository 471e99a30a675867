#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vernier/model/insert_switches.h"

namespace vernier {

// The switches of a quantized model, and the weights that are added to it.
struct SwitchList {
  std::vector<Switch> switches;
  std::vector<Unswitched> unswitched;
  std::vector<Tensor> weights;
  // By label of the stored tensor; dynamic ones by label of the quantizing node.
  std::map<std::string, std::size_t> activations;
  std::map<std::string, std::size_t> weight_switches;  // by name of the weight
  std::set<std::string> added;                         // names of dequantized weights in `weights`
  std::set<std::string> computed_weights;  // nodes with a weight that the model quantizes itself

  void add_weight(std::string name, Tensor weight) {
    weight.name = std::move(name);
    weights.push_back(std::move(weight));
  }
};

// A weight whose stored integers an operator reads directly.
struct OperandWeight {
  const QuantizedWeight* weight = nullptr;
  std::span<const Tensor> biases = {};
};

// The name of a stored weight's float counterpart in the model with switches.
inline std::string float_name(const std::string& weight) { return "vernier.float:" + weight; }

// Inserts the switches of `list` into one graph, which `index` describes as it is in the file.
// `operands` are by name. Each stored tensor gets a real counterpart, which all operators read. The
// file's own operators read it quantized again: that gives the stored integers back, so their
// result can be used if all quantizers that it depends on are as in the file.
void switch_graph(GraphProto& graph, const GraphIndex& index, SwitchList& list,
                  const std::map<std::string, OperandWeight>& operands);

}  // namespace vernier
