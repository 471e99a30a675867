#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/model/onnx.h"
#include "vernier/model/quantizer.h"

namespace vernier {

// Edits the main graph of a model: adds uniquely named constants and nodes. finish() inserts the
// new nodes in their places and removes constants that are no longer read.
class GraphWriter {
 public:
  explicit GraphWriter(Model model);
  ~GraphWriter();
  GraphWriter(GraphWriter&&) noexcept;

  const Model& model() const { return model_; }
  NodeProto& node(int number);
  std::string fresh_name(const std::string& stem);
  std::string add_constant(const std::string& stem, Tensor tensor);
  // Inserts a node before node `number` of the original graph; at the end if `number` is its size.
  NodeProto& insert_before(int number, const std::string& op,
                           const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs, const std::string& domain = "");
  void import_domain(const std::string& domain, std::int64_t version);
  // Removes a node of the original graph.
  void drop(int number);

  // The domain whose QuantizeLinear and DequantizeLinear support the quantizer's type and an axis.
  std::string quantizer_domain(const Quantizer& quantizer) const;
  // Stores a constant, inserts its DequantizeLinear before the node, and returns that one's output.
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
