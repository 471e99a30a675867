#include "vernier/runtime/marks.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "vernier/model/graph.h"
#include "vernier/model/make_node.h"
#include "vernier/model/value_kind.h"
#include "vernier/runtime/probes.h"

namespace vernier {
namespace {

using vernier_onnx::AttributeProto;
using vernier_onnx::GraphProto;
using vernier_onnx::ModelProto;
using vernier_onnx::NodeProto;
using vernier_onnx::TensorProto;

using Names = std::unordered_set<std::string>;

constexpr const char* first_token = "vernier.token";

// The node's label in the file: a node without a name is labelled by its output, which a probe may
// have renamed.
std::string label_of(const NodeProto& node) {
  std::string label = node_label(node);
  if (const auto at = label.find(probed_prefix); at != std::string::npos)
    label.erase(at, probed_prefix.size());
  return label;
}

class MarkInserter {
 public:
  explicit MarkInserter(const ModelProto& model) : model_(model) {}

  // `token` is the current token of the surrounding graph.
  void graph(GraphProto& graph, const ValueKinds& outer, Names constants, std::string token) {
    const ValueKinds kinds = value_kinds(model_, graph, outer);
    for (const TensorProto& weight : graph.initializer()) constants.insert(weight.name());
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (NodeProto& node : nodes) {
      if (is_op(node, "Constant")) constants.insert(node.output().begin(), node.output().end());
      const auto is_markable = [&](const std::string& name) {
        const auto kind = kinds.find(name);
        return !name.empty() && !constants.contains(name) &&
               (kind == kinds.end() || kind->second == ValueKind::tensor);
      };
      auto& inputs = *node.mutable_input();
      auto& outputs = *node.mutable_output();
      const auto input = std::ranges::find_if(inputs, is_markable);
      const auto output = std::ranges::find_if(outputs, is_markable);
      if (input == inputs.end() || output == outputs.end() || node.domain() == probe_domain) {
        *graph.add_node() = std::move(node);
        continue;
      }
      const std::string target = *output;
      const std::string source = std::exchange(*input, fmt::format("vernier.marked:{}", ++count_));
      *graph.add_node() = mark(node, source, *input, token);
      for (AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) this->graph(*attribute.mutable_g(), kinds, constants, token);
        for (GraphProto& subgraph : *attribute.mutable_graphs())
          this->graph(subgraph, kinds, constants, token);
      }
      *output = fmt::format("vernier.marked:{}", ++count_);
      NodeProto behind = mark(node, *output, target, token);
      *graph.add_node() = std::move(node);
      *graph.add_node() = std::move(behind);
    }
  }

 private:
  // A mark that passes `source` on as `target`, and reads the token and writes the next one.
  NodeProto mark(const NodeProto& marked, const std::string& source, const std::string& target,
                 std::string& token) {
    NodeProto node = make_node(mark_op, {source, token}, target, probe_domain);
    node.set_name(fmt::format("vernier.mark:{}", count_));
    token = fmt::format("{}:{}", first_token, count_);
    node.add_output(token);
    add_string(node, marked_node_attribute, label_of(marked));
    add_string(node, marked_op_attribute, marked.op_type());
    return node;
  }

  const ModelProto& model_;
  std::int64_t count_ = 0;
};

}  // namespace

void insert_marks(Model& model) {
  MarkInserter(model.proto()).graph(model.graph(), {}, {}, first_token);
  TensorProto& token = *model.graph().add_initializer();
  token.set_name(first_token);
  token.set_data_type(TensorProto::FLOAT);
  token.add_dims(1);
  token.add_float_data(0);
  import_probe_domain(model.proto());
}

}  // namespace vernier
