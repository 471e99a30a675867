#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "vernier/model/dtypes.h"
#include "vernier/model/graph.h"
#include "vernier/model/model.h"
#include "vernier/tensor/name_map.h"

namespace vernier {

class ModelIndex;

// The stored weight that a tensor is, possibly cast, transposed or dequantized.
struct WeightSource {
  const TensorProto* stored = nullptr;    // null if the tensor is not a weight
  const NodeProto* dequantize = nullptr;  // the DequantizeLinear on the way, or null
  bool transposed = false;                // the tensor is the weight's transpose
  explicit operator bool() const { return stored != nullptr; }
};

// Lookups in one graph of a model: the producer, the consumers, the type and the value of each
// tensor. Names that the subgraph of an If, Loop or Scan does not define are looked up in the
// enclosing graph. The model must outlive the index and stay unchanged.
class GraphIndex {
 public:
  // A graph without a ModelIndex: labels are plain names, dtypes and stored values are unknown.
  explicit GraphIndex(const GraphProto& graph, const GraphIndex* outer = nullptr);
  GraphIndex(const ModelIndex& model, const Subgraph& place, const GraphIndex* outer);

  const ModelIndex& index() const { return *model_; }  // only if made with a ModelIndex
  const GraphProto& graph() const { return *place_.graph; }
  const NodeProto* owner() const { return place_.owner; }  // null if the main graph
  const std::string& path() const { return place_.path; }  // "loop_1.body/if_0.then_branch"
  const GraphIndex* outer() const { return outer_; }

  // The node that writes the tensor; null for inputs, weights and unknown names.
  const NodeProto* producer(std::string_view tensor) const;
  // The nodes of this graph that read the tensor, in graph order, each once, including nodes whose
  // subgraphs capture it.
  std::span<const NodeProto* const> consumers(std::string_view tensor) const;
  const TensorProto* initializer(std::string_view tensor) const;
  // The tensor's declaration as input, output or value_info; null if it is not declared.
  const ValueInfoProto* value_info(std::string_view tensor) const;
  // The index of a node of this graph.
  int position(const NodeProto& node) const { return positions_.at(&node); }
  // These two ignore enclosing graphs.
  bool is_input(std::string_view tensor) const { return inputs_.contains(tensor); }
  bool is_output(std::string_view tensor) const { return outputs_.contains(tensor); }
  // Whether this graph, not an enclosing one, defines the name: input, weight or node output.
  bool defines(std::string_view tensor) const;
  // Whether this graph defines the tensor, one of its nodes reads it, and nothing else does.
  bool has_one_reader(std::string_view tensor) const;

  // A constant's shape, else the declared shape with -1 for dynamic dims; nullopt if not declared.
  std::optional<Shape> declared_shape(std::string_view tensor) const;
  std::optional<DType> dtype(const std::string& tensor) const;

  // An initializer, or the `value` tensor of a Constant node; null if it is neither.
  const TensorProto* constant(std::string_view tensor) const;
  // The value of an initializer or a Constant node; nullopt if it is neither or cannot be read.
  std::optional<Tensor> value(std::string_view tensor) const;
  std::optional<std::vector<double>> numbers(std::string_view tensor) const;
  // The value of a constant with one element; nullopt for larger constants, which are not read.
  std::optional<double> number(std::string_view tensor) const;
  // Follows Identity, Cast, a Transpose of two axes, and DequantizeLinear.
  WeightSource weight_source(std::string_view tensor) const;

  // The label that a probe gives a tensor of this graph (TensorLabels).
  std::string label(const std::string& tensor) const;

 private:
  const ModelIndex* model_ = nullptr;
  Subgraph place_;
  const GraphIndex* outer_ = nullptr;
  std::unordered_map<std::string_view, const NodeProto*> producers_;
  std::unordered_map<const NodeProto*, int> positions_;
  NameMap<std::vector<const NodeProto*>> consumers_;
  std::unordered_map<std::string_view, const TensorProto*> initializers_;
  std::unordered_map<std::string_view, const ValueInfoProto*> infos_;
  std::unordered_set<std::string_view> inputs_;
  std::unordered_set<std::string_view> outputs_;
};

// A weight of a model: an initializer, or the tensor of a Constant node.
struct Weight {
  std::string name;  // of the initializer, or of the Constant node's output
  const TensorProto* proto = nullptr;
  const GraphIndex* graph = nullptr;
};

// A node, and the graph that it is in.
struct FoundNode {
  const GraphIndex* graph = nullptr;
  const NodeProto* node = nullptr;
};

// An output of a node, and the graph that it is in.
struct FoundTensor : FoundNode {
  int output = 0;
  const std::string& name() const;  // inside its graph
};

// Lookups in a whole model, by name or by value. The model must stay unchanged and, unless the
// index keeps it, outlive the index. Lookups are thread-safe. To index a model takes a pass over
// its graph: a command does so once a model, and hands the index on.
class ModelIndex {
 public:
  explicit ModelIndex(const Model& model);
  explicit ModelIndex(Model&& model);  // keeps the model
  ModelIndex(const ModelIndex&) = delete;
  ModelIndex& operator=(const ModelIndex&) = delete;

  const Model& model() const { return *model_; }
  const GraphIndex& main() const { return graphs_.front(); }
  // The main graph first, each subgraph after the graph that contains it.
  const std::deque<GraphIndex>& graphs() const { return graphs_; }

  // The node output with this label (GraphIndex::label); null if there is none.
  const FoundTensor* tensor(std::string_view label) const;
  // The first node of that name; null if there is none.
  const FoundNode* node(std::string_view name) const;
  // Whether the node calls one of the model's local functions.
  bool is_local_function(const NodeProto& node) const;

  // All weights, in graph order.
  std::span<const Weight> weights() const { return weights_; }
  // The first weight of that name, the main graph's before those of subgraphs; null if none.
  const Weight* weight(std::string_view name) const;
  // The weights with this number of elements, in graph order.
  std::span<const Weight* const> weights_of_size(std::int64_t elements) const;
  // The first weight of this type, shape and content; null if there is none.
  const Weight* weight_with(const TensorView& content) const;

 private:
  friend class GraphIndex;
  using Weights = std::vector<const Weight*>;

  explicit ModelIndex(std::shared_ptr<const Model> model);
  void add_graph(const GraphIndex& graph);
  void add_contents() const;

  std::shared_ptr<const Model> model_;  // owns nothing if the model is someone else's
  GraphDTypes dtypes_;
  TensorLabels labels_;
  std::deque<GraphIndex> graphs_;  // subgraphs point to enclosing graphs
  NameMap<FoundTensor> tensors_;
  std::unordered_map<std::string_view, FoundNode> nodes_;
  std::unordered_set<std::string> functions_;
  std::vector<Weight> weights_;
  std::unordered_map<std::string_view, const Weight*> weights_by_name_;
  std::unordered_map<std::int64_t, Weights> weights_by_size_;
  // Filled by the first call of weight_with(), which reads the weights from their files.
  mutable std::once_flag contents_once_;
  mutable std::unordered_map<std::size_t, Weights> weights_by_content_;
};

}  // namespace vernier
