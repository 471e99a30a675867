#include "vernier/model/index_range.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <unordered_map>

#include "vernier/model/graph.h"

namespace vernier {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<vernier_onnx::NodeProto>;

// What is known of a tensor: the inputs whose elements it may hold, and its dims (-1: not known).
struct Value {
  std::set<std::string> sources;
  std::optional<Shape> dims;
};

// The names that a graph sees: its own, then those of the graph around it.
class Scope {
 public:
  explicit Scope(const Scope* outer = nullptr) : outer_(outer) {}
  Value& define(const std::string& name) { return values_[name]; }
  Value find(const std::string& name) const {
    const auto own = values_.find(name);
    if (own != values_.end()) return own->second;
    return outer_ ? outer_->find(name) : Value{};
  }

 private:
  const Scope* outer_;
  std::unordered_map<std::string, Value> values_;
};
using Declared = std::unordered_map<std::string, Shape>;

// An operator that reads elements of one input as positions along an axis of another.
struct IndexUse {
  std::string_view domain, op_type;
  int indices, data;
  std::string_view axis_attribute;
};
constexpr std::array index_uses = {
    IndexUse{"", "Gather", 1, 0, "axis"},
    IndexUse{"", "GatherElements", 1, 0, "axis"},
    IndexUse{"", "ScatterElements", 1, 0, "axis"},
    IndexUse{"com.microsoft", "GatherBlockQuantized", 1, 0, "gather_axis"},
    IndexUse{"com.microsoft", "EmbedLayerNormalization", 0, 2, ""},
    IndexUse{"com.microsoft", "EmbedLayerNormalization", 1, 4, ""},
    IndexUse{"com.microsoft", "EmbedLayerNormalization", 8, 3, ""},
};

// Operators whose outputs hold elements of these inputs, unchanged and in any order.
struct Carrier {
  std::string_view op_type;
  int first, last;  // positions of the inputs
};
constexpr int every = 1 << 30;
constexpr std::array carriers = {
    Carrier{"Cast", 0, 0},           Carrier{"CastLike", 0, 0},
    Carrier{"Identity", 0, 0},       Carrier{"Reshape", 0, 0},
    Carrier{"Flatten", 0, 0},        Carrier{"Squeeze", 0, 0},
    Carrier{"Unsqueeze", 0, 0},      Carrier{"Transpose", 0, 0},
    Carrier{"Slice", 0, 0},          Carrier{"Split", 0, 0},
    Carrier{"Concat", 0, every},     Carrier{"Expand", 0, 0},
    Carrier{"Tile", 0, 0},           Carrier{"Pad", 0, 0},
    Carrier{"Where", 1, 2},          Carrier{"Gather", 0, 0},
    Carrier{"GatherElements", 0, 0}, Carrier{"GatherND", 0, 0},
    Carrier{"Clip", 0, 0},           Carrier{"Max", 0, every},
    Carrier{"Min", 0, every},        Carrier{"ReduceMax", 0, 0},
    Carrier{"ReduceMin", 0, 0},      Carrier{"Compress", 0, 0},
    Carrier{"Dropout", 0, 0},        Carrier{"ReverseSequence", 0, 0},
    Carrier{"Trilu", 0, 0},          Carrier{"DepthToSpace", 0, 0},
    Carrier{"SpaceToDepth", 0, 0},   Carrier{"TopK", 0, 0},
};

// Operators whose first output has the shape of their first input: enough to see through what
// stands between a weight and a Gather.
constexpr std::array<std::string_view, 5> same_shape = {"Identity", "Cast", "CastLike",
                                                        "QuantizeLinear", "DequantizeLinear"};

std::optional<Shape> declared_dims(const vernier_onnx::ValueInfoProto& info) {
  if (!info.type().has_tensor_type() || !info.type().tensor_type().has_shape()) return {};
  Shape dims;
  for (const auto& dim : info.type().tensor_type().shape().dim())
    dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  return dims;
}

Shape dims_of(const vernier_onnx::TensorProto& tensor) {
  return {tensor.dims().begin(), tensor.dims().end()};
}

class IndexTracker {
 public:
  explicit IndexTracker(const Model& model) : model_(model) {}

  std::map<std::string, std::int64_t> lengths() {
    Scope scope;
    for (const TensorSpec& input : model_.inputs())
      if (is_integer(input.dtype)) scope.define(input.name).sources = {input.name};
    walk_graph(model_.graph(), scope);
    return std::move(lengths_);
  }

 private:
  // No honest model nests deeper or unfolds to more nodes than this.
  static constexpr int most_depth = 32;
  static constexpr int most_nodes = 1'000'000;

  std::vector<Value> walk_graph(const vernier_onnx::GraphProto& graph, Scope& scope) {
    for (const auto& tensor : graph.initializer())
      scope.define(tensor.name()).dims = dims_of(tensor);
    Declared declared;
    for (const auto* infos : {&graph.input(), &graph.value_info(), &graph.output()})
      for (const auto& info : *infos)
        if (auto dims = declared_dims(info)) declared[info.name()] = std::move(*dims);
    for (const auto& input : graph.input()) declare(input.name(), declared, scope);
    walk_nodes(graph.node(), declared, scope);
    std::vector<Value> outputs;
    for (const auto& output : graph.output()) outputs.push_back(scope.find(output.name()));
    return outputs;
  }

  static void declare(const std::string& name, const Declared& declared, Scope& scope) {
    const auto dims = declared.find(name);
    Value& value = scope.define(name);
    if (dims != declared.end() && !value.dims) value.dims = dims->second;
  }

  void walk_nodes(const Nodes& nodes, const Declared& declared, Scope& scope) {
    for (const auto& node : nodes) {
      if (++nodes_ > most_nodes) return;
      std::vector<Value> inputs;
      for (const std::string& name : node.input()) inputs.push_back(scope.find(name));
      note_indices(node, inputs);
      std::vector<Value> outputs = walk_inside(node, inputs, scope);
      outputs.resize(node.output_size(), simple_output(node, inputs));
      for (int i = 0; i < node.output_size(); ++i) {
        scope.define(node.output(i)) = std::move(outputs[i]);
        declare(node.output(i), declared, scope);
      }
    }
  }

  // The outputs of a node that has subgraphs or is a local function; none for any other.
  std::vector<Value> walk_inside(const vernier_onnx::NodeProto& node,
                                 const std::vector<Value>& inputs, const Scope& scope) {
    std::vector<Value> outputs;
    if (depth_ == most_depth) return outputs;
    ++depth_;
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) merge(outputs, walk_subgraph(node, attribute.g(), inputs, scope));
    for (const auto& function : model_.proto().functions())
      if (is_op(node, function.name(), function.domain()))
        outputs = walk_function(function, inputs);
    --depth_;
    return outputs;
  }

  std::vector<Value> walk_subgraph(const vernier_onnx::NodeProto& node,
                                   const vernier_onnx::GraphProto& subgraph,
                                   const std::vector<Value>& inputs, const Scope& outer) {
    // Shapes are dropped: Scan slices its inputs, Loop may change what it carries.
    Scope scope(&outer);
    for (int i = 0; i < std::min<int>(subgraph.input_size(), std::ssize(inputs)); ++i)
      scope.define(subgraph.input(i).name()) = {inputs[i].sources, {}};
    std::vector<Value> outputs = walk_graph(subgraph, scope);
    for (Value& output : outputs) output.dims.reset();
    const bool leads_with_condition = is_op(node, "Loop") && !outputs.empty();
    if (leads_with_condition) outputs.erase(outputs.begin());
    return outputs;
  }

  std::vector<Value> walk_function(const vernier_onnx::FunctionProto& function,
                                   const std::vector<Value>& inputs) {
    Scope scope;
    for (int i = 0; i < std::min<int>(function.input_size(), std::ssize(inputs)); ++i)
      scope.define(function.input(i)) = inputs[i];
    walk_nodes(function.node(), {}, scope);
    std::vector<Value> outputs;
    for (const std::string& name : function.output()) outputs.push_back(scope.find(name));
    return outputs;
  }

  static void merge(std::vector<Value>& into, const std::vector<Value>& from) {
    into.resize(std::max(into.size(), from.size()));
    for (std::size_t i = 0; i < from.size(); ++i)
      into[i].sources.insert(from[i].sources.begin(), from[i].sources.end());
  }

  static Value simple_output(const vernier_onnx::NodeProto& node,
                             const std::vector<Value>& inputs) {
    Value output;
    for (const Carrier& carrier : carriers) {
      if (!is_op(node, carrier.op_type)) continue;
      for (int i = carrier.first; i <= carrier.last && i < static_cast<int>(inputs.size()); ++i)
        output.sources.insert(inputs[i].sources.begin(), inputs[i].sources.end());
    }
    const bool keeps_shape = std::ranges::any_of(
        same_shape, [&](std::string_view op_type) { return is_op(node, op_type); });
    if (keeps_shape && !inputs.empty()) output.dims = inputs[0].dims;
    if (is_op(node, "Constant"))
      if (const auto* value = attribute(node, "value")) output.dims = dims_of(value->t());
    return output;
  }

  void note_indices(const vernier_onnx::NodeProto& node, const std::vector<Value>& inputs) {
    const auto input = [&](int i) { return i < std::ssize(inputs) ? inputs[i] : Value{}; };
    for (const IndexUse& use : index_uses)
      if (is_op(node, use.op_type, use.domain))
        note(input(use.indices), input(use.data),
             use.axis_attribute.empty() ? 0 : attribute_int(node, use.axis_attribute, 0));
    if (is_op(node, "GatherND"))
      note_tuples(input(1), input(0), attribute_int(node, "batch_dims", 0));
  }

  // Each index is a tuple over the dims from `first`, as many as the last dim of `indices` says.
  void note_tuples(const Value& indices, const Value& data, std::int64_t first) {
    if (!data.dims) return;
    const std::int64_t rank = std::ssize(*data.dims);
    const bool known = indices.dims && !indices.dims->empty() && indices.dims->back() > 0;
    const std::int64_t end = known ? std::min(first + indices.dims->back(), rank) : rank;
    for (std::int64_t axis = first; axis < end; ++axis) note(indices, data, axis);
  }

  void note(const Value& indices, const Value& data, std::int64_t axis) {
    if (!data.dims) return;
    const std::int64_t rank = std::ssize(*data.dims);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || (*data.dims)[axis] < 1) return;
    for (const std::string& source : indices.sources) {
      const auto [length, added] = lengths_.emplace(source, (*data.dims)[axis]);
      length->second = std::min(length->second, (*data.dims)[axis]);
    }
  }

  const Model& model_;
  std::map<std::string, std::int64_t> lengths_;
  int depth_ = 0;
  int nodes_ = 0;
};

}  // namespace

std::map<std::string, std::int64_t> index_lengths(const Model& model) {
  return IndexTracker(model).lengths();
}

}  // namespace vernier
