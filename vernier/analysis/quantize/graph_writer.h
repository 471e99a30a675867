#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/model/quantizer.h"

namespace vernier_onnx {
class AttributeProto;
class NodeProto;
}  // namespace vernier_onnx

namespace vernier {

// Adds to the main graph of a model: names that are free, constants, and nodes before or behind
// others. finish() puts the nodes in order and drops constants that nothing reads any more.
class GraphWriter {
 public:
  explicit GraphWriter(Model model);
  ~GraphWriter();
  GraphWriter(GraphWriter&&) noexcept;

  const Model& model() const { return model_; }
  vernier_onnx::NodeProto& node(int number);
  std::string fresh_name(const std::string& stem);
  std::string add_constant(const std::string& stem, Tensor tensor);
  // The node stands before node `number` of the model; at its number of nodes: behind all.
  vernier_onnx::NodeProto& insert_before(int number, const std::string& op,
                                         const std::vector<std::string>& inputs,
                                         const std::vector<std::string>& outputs,
                                         const std::string& domain = "");
  void import_domain(const std::string& domain, std::int64_t version);
  // Leaves out a node of the model.
  void drop(int number);

  // "QuantizeLinear" or "DequantizeLinear" in the domain that has the type and an axis.
  std::string quantizer_domain(const Quantizer& quantizer) const;
  // DequantizeLinear of a stored constant before the node; returns the name of what it writes.
  std::string dequantized(int before, const std::string& stem, Tensor stored,
                          const Quantizer& quantizer);

  Model finish();

 private:
  Model model_;
  std::unordered_set<std::string> names_;
  struct Inserted;
  std::vector<Inserted> inserted_;
  std::unordered_set<int> dropped_;
};

}  // namespace vernier
