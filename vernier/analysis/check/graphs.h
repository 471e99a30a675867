#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/check/finding.h"
#include "vernier/model/dtypes.h"
#include "vernier/model/graph.h"
#include "vernier/model/model.h"

namespace vernier {

// One graph of a model with what the checks ask of it.
struct Body {
  const vernier_onnx::GraphProto* graph = nullptr;
  const vernier_onnx::NodeProto* owner = nullptr;  // null for the main graph
  std::string path;
  const GraphIndex* index = nullptr;
  const DTypes* dtypes = nullptr;
};

// The main graph of a model and every subgraph inside it. The model must outlive it unchanged.
struct Graphs {
  explicit Graphs(const Model& model);
  Graphs(const Graphs&) = delete;

  const Model& model;
  std::vector<Body> subgraphs;  // the main graph first

  const Body& main() const { return subgraphs.front(); }

 private:
  GraphDTypes dtypes_;
  std::deque<GraphIndex> indexes_;
};

Subject node_subject(const Body& subgraph, const vernier_onnx::NodeProto& node);
Subject tensor_subject(const Body& subgraph, const std::string& tensor);

// The name of the node's input, empty if it has no such input.
std::string input_name(const vernier_onnx::NodeProto& node, int index);

std::optional<DType> dtype_of(const Body& subgraph, const std::string& tensor);

// An initializer, or the tensor of a Constant node; null if it is neither.
const vernier_onnx::TensorProto* constant_proto(const Body& subgraph, const std::string& tensor);

// The value of an initializer or Constant node; nothing if it is neither or cannot be read.
std::optional<Tensor> constant_value(const Graphs& graphs, const Body& subgraph,
                                     const std::string& tensor);
// The same, its elements widened.
std::optional<std::vector<double>> constant_numbers(const Graphs& graphs, const Body& subgraph,
                                                    const std::string& tensor);

// The value of a constant of one element; others are not read.
std::optional<double> constant_number(const Graphs& graphs, const Body& subgraph,
                                      const std::string& tensor);

// The declared shape, -1 for dynamic dims; of a constant its own.
std::optional<Shape> declared_shape(const Body& subgraph, const std::string& tensor);

// "3 nodes", "1 node".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace vernier
