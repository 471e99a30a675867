#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "vernier/model/edit.h"
#include "vernier/model/insert_switches.h"
#include "vernier/model/switch_nodes.h"
#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

using vernier_onnx::AttributeProto;
using vernier_onnx::GraphProto;
using vernier_onnx::NodeProto;
using vernier_onnx::TensorProto;

bool is_quantize(const NodeProto* node) { return node && node->op_type() == "QuantizeLinear"; }
bool is_dequantize(const NodeProto* node) { return node && node->op_type() == "DequantizeLinear"; }

// Calls visit(graph, path) for the graph and its subgraphs, named as all_subgraphs() does.
template <typename Visit>
void visit_graphs(GraphProto& graph, const std::string& path, const Visit& visit) {
  for (NodeProto& node : *graph.mutable_node())
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      const std::string prefix = path.empty() ? "" : path + "/";
      const std::string inner = fmt::format("{}{}.{}", prefix, node_label(node), attribute.name());
      if (attribute.has_g()) visit_graphs(*attribute.mutable_g(), inner, visit);
      for (GraphProto& each : *attribute.mutable_graphs()) visit_graphs(each, inner, visit);
    }
  visit(graph, path);
}

class QuantizedSwitches {
 public:
  QuantizedSwitches(const ModelIndex& index, const FloatCounterparts& counterparts)
      : index_(index), counterparts_(counterparts), model_(index.model().clone()) {}

  SwitchedModel insert(const Quantization& quantization) && {
    for (std::size_t i = 0; i < quantization.activations.size(); ++i)
      add(quantization.activations[i], counterparts_.folded[i]);
    for (std::size_t i = 0; i < quantization.weights.size(); ++i)
      add(quantization.weights[i], counterparts_.weights[i]);
    visit_graphs(model_.graph(), "",
                 [&](GraphProto& graph, const std::string& path) { place(graph, path); });
    for (const Tensor& weight : added_weights_)
      *model_.graph().add_initializer() = make_tensor_proto(weight);
    import_switch_domain(model_.proto());
    return {std::move(model_), std::move(switches_), std::move(unswitched_)};
  }

 private:
  using Place = std::pair<std::string, std::string>;  // path of the graph, name of the tensor

  struct Placed {
    SwitchPlace what;
    std::string real;
    DType dtype = DType::f32;
  };

  void add(const QuantizedActivation& activation, const std::optional<RealRange>& folded) {
    const FoundTensor* after = index_.tensor(activation.after);
    const NodeProto* quantize = after && is_dequantize(after->node)
                                    ? after->graph->producer(after->node->input(0))
                                    : nullptr;
    if (!is_quantize(quantize)) return leave(activation.name, Unswitched::Reason::unknown_operator);
    const Placed placed{{switches_.size(), SwitchRole::activation, folded},
                        quantize->input(0),
                        activation.quantizer.scale.dtype};
    for (const NodeProto* same : after->graph->consumers(quantize->input(0))) {
      if (!is_quantize(same) || input_name(*same, 1) != input_name(*quantize, 1) ||
          input_name(*same, 2) != input_name(*quantize, 2))
        continue;
      for (const NodeProto* dequantize : after->graph->consumers(same->output(0)))
        if (is_dequantize(dequantize))
          placed_.emplace(Place{after->graph->path(), dequantize->output(0)}, placed);
    }
    const NodeProto* writer = after->graph->producer(quantize->input(0));
    switches_.push_back({.kind = Switch::Kind::activation,
                         .name = activation.name,
                         .node = writer ? node_label(*writer) : "",
                         .op = writer ? writer->op_type() : "",
                         .in_file = activation.quantizer,
                         .is_in_file = true});
  }

  void add(const QuantizedWeight& weight, const std::optional<Tensor>& real) {
    const FoundTensor* read = index_.tensor(weight.real_name);
    if (!read || !is_dequantize(read->node))
      return leave(weight.name, Unswitched::Reason::unknown_operator);
    if (!real) return leave(weight.name, Unswitched::Reason::no_float_counterpart);
    const Placed placed{{switches_.size(), SwitchRole::weight},
                        add_float(weight.name, *real),
                        weight.quantizer.scale.dtype};
    for (const NodeProto* dequantize : read->graph->consumers(read->node->input(0)))
      if (is_dequantize(dequantize) && input_name(*dequantize, 1) == input_name(*read->node, 1))
        placed_.emplace(Place{read->graph->path(), dequantize->output(0)}, placed);
    add_weight_switch(weight);
  }

  void add_weight_switch(const QuantizedWeight& weight) {
    const FoundNode* reader = index_.node(weight.reader);
    switches_.push_back({.kind = Switch::Kind::weight,
                         .name = weight.name,
                         .node = weight.reader,
                         .op = reader ? reader->node->op_type() : "",
                         .in_file = weight.quantizer,
                         .is_in_file = true,
                         .reader = weight.reader,
                         .reader_input = weight.reader_input,
                         .channel_axis = weight.channel_axis});
  }

  void leave(const std::string& subject, Unswitched::Reason reason) {
    unswitched_.push_back({reason, subject});
  }

  std::string add_float(const std::string& weight, Tensor real) {
    real.name = fmt::format("vernier.float:{}:{}", switches_.size(), weight);
    added_weights_.push_back(std::move(real));
    return added_weights_.back().name;
  }

  void place(GraphProto& graph, const std::string& path) {
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (NodeProto& original : nodes) {
      NodeProto& node = *graph.add_node();
      node = std::move(original);
      if (node.output_size() == 0) continue;
      const auto found = placed_.find({path, node.output(0)});
      if (found == placed_.end()) continue;
      const Placed& placed = found->second;
      const std::string output = node.output(0), quantized = "vernier.quantized:" + output;
      node.set_output(0, quantized);
      *graph.add_node() =
          choice_node(placed.what, placed.real, quantized, output, placed.dtype);
    }
  }

  const ModelIndex& index_;
  const FloatCounterparts& counterparts_;
  Model model_;
  std::vector<Switch> switches_;
  std::vector<Unswitched> unswitched_;
  std::vector<Tensor> added_weights_;
  std::map<Place, Placed> placed_;
};

}  // namespace

SwitchedModel insert_switches(const ModelIndex& quantized_model, const Quantization& quantization,
                              const FloatCounterparts& counterparts) {
  return QuantizedSwitches(quantized_model, counterparts).insert(quantization);
}

}  // namespace vernier
