#include "vernier/model/convert_fp16.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "vernier/error.h"
#include "vernier/model/dtypes.h"
#include "vernier/model/fp16_constants.h"
#include "vernier/model/fp16_policy.h"
#include "vernier/model/graph.h"
#include "vernier/model/index.h"
#include "vernier/model/make_node.h"

namespace vernier {
namespace {

using vernier_onnx::AttributeProto;
using vernier_onnx::GraphProto;
using vernier_onnx::NodeProto;
using vernier_onnx::TensorProto;
using vernier_onnx::ValueInfoProto;

// The precision in which a float32 value of the source is stored after conversion. Each value has
// one; a reader that needs the other precision reads a Cast, at most one for each value and graph.
enum class Home { single, half };
using Homes = std::unordered_map<std::string, Home>;

int type_of(Home home) { return home == Home::half ? TensorProto::FLOAT16 : TensorProto::FLOAT; }
const char* suffix_of(Home home) { return home == Home::half ? "_fp16" : "_fp32"; }

// State shared by the converters of all graphs of the model.
struct Context {
  const Model& source;
  Fp16Policy policy;
  GraphDTypes types;
  std::unordered_set<std::string> names;  // in use
  Fp16Result& result;

  std::string fresh_name(const std::string& stem) {
    std::string name = stem;
    for (int i = 1; !names.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
    return name;
  }

  void add_clamped(ClampedWeight report) {
    if (report.overflowed + report.underflowed > 0) result.clamped.push_back(std::move(report));
  }
};

std::unordered_set<std::string> names_in(const GraphProto& graph) {
  std::unordered_set<std::string> names;
  for (const Subgraph& subgraph : all_subgraphs(graph)) {
    for (const auto& tensor : subgraph.graph->initializer()) names.insert(tensor.name());
    for (const auto& input : subgraph.graph->input()) names.insert(input.name());
    for (const auto& node : subgraph.graph->node())
      names.insert(node.output().begin(), node.output().end());
  }
  return names;
}

NodeProto make_cast(const std::string& from, const std::string& to, Home home) {
  NodeProto node = make_node("Cast", {from}, to);
  node.set_name(to + "_cast");
  add_int(node, "to", type_of(home));
  return node;
}

// Renames a tensor in the node, and in its subgraphs that capture the name.
void rename(NodeProto& node, const std::string& from, const std::string& to) {
  std::ranges::replace(*node.mutable_input(), from, to);
  std::ranges::replace(*node.mutable_output(), from, to);
  for (AttributeProto& value : *node.mutable_attribute())
    if (value.has_g() && !GraphIndex(value.g()).defines(from)) {
      for (NodeProto& inner : *value.mutable_g()->mutable_node()) rename(inner, from, to);
      for (ValueInfoProto& output : *value.mutable_g()->mutable_output())
        if (output.name() == from) output.set_name(to);
    }
}

// Converts one graph; its subgraphs are converted by converters of their own.
class GraphConverter {
 public:
  // `boundary` is the precision of the graph's own float inputs and outputs.
  GraphConverter(Context& context, GraphProto& graph, Homes outer, Home boundary)
      : context_(context), graph_(graph), homes_(std::move(outer)), boundary_(boundary) {
    // Names defined in this graph shadow those of the enclosing graphs.
    for (const TensorProto& tensor : graph.initializer()) homes_.erase(tensor.name());
    for (const ValueInfoProto& input : graph.input()) homes_.erase(input.name());
  }

  void run(bool is_model) {
    home_weights();
    for (const ValueInfoProto& input : graph_.input())
      if (is_single(graph_, input.name())) homes_.emplace(input.name(), boundary_);
    for (NodeProto& node : *graph_.mutable_node()) convert_node(node);
    for (ValueInfoProto& output : *graph_.mutable_output())
      is_model ? write_model_output(output.name()) : write_subgraph_output(output);
    convert_weights();
    retype_values();
    graph_.clear_node();
    for (NodeProto& node : nodes_) *graph_.add_node() = std::move(node);
  }

 private:
  bool is_single(const GraphProto& graph, const std::string& name) const {
    const DTypes& types = context_.types.at(&graph);
    const auto found = types.find(name);
    return found != types.end() && found->second == DType::f32;
  }

  bool touches_single(const GraphProto& graph, const NodeProto& node) const {
    const auto any = [&](const auto& names) {
      return std::ranges::any_of(names, [&](const auto& name) { return is_single(graph, name); });
    };
    return any(node.input()) || any(node.output());
  }

  // A weight is stored in float16 if any reader, in this graph or a subgraph of it, computes in
  // float16.
  void home_weights() {
    for (const TensorProto& tensor : graph_.initializer())
      if (tensor.data_type() == TensorProto::FLOAT) homes_[tensor.name()] = Home::single;
    for (const Subgraph& subgraph : all_subgraphs(graph_))
      for (const NodeProto& node : subgraph.graph->node()) {
        if (has_subgraphs(node) || !touches_single(*subgraph.graph, node)) continue;
        if (context_.policy.computes_in_half(node)) home_inputs_in_half(node);
      }
  }

  void home_inputs_in_half(const NodeProto& node) {
    for (int i = 0; i < node.input_size(); ++i)
      if (const auto home = homes_.find(node.input(i)); home != homes_.end())
        if (context_.policy.is_weight(home->first) && !is_float32_only_input(node, i))
          home->second = Home::half;
  }

  // The name under which `tensor` can be read with the wanted precision.
  std::string as(const std::string& tensor, Home wanted) {
    const auto home = homes_.find(tensor);
    if (home == homes_.end() || home->second == wanted) return tensor;
    std::string& casted = casts_[tensor];
    if (casted.empty()) {
      casted = context_.fresh_name(tensor + suffix_of(wanted));
      nodes_.push_back(make_cast(tensor, casted, wanted));
      ++context_.result.casts;
    }
    return casted;
  }

  void convert_node(NodeProto& node) {
    // A Cast from float32 to float32 would become float16 to float16, which crashes ONNX Runtime
    // 1.30 when the model is loaded.
    if (is_op(node, "Cast") && is_single(graph_, node.input(0)) &&
        is_single(graph_, node.output(0))) {
      node.set_op_type("Identity");
      node.clear_attribute();
    }
    const bool touches = touches_single(graph_, node);
    const Home home = touches && context_.policy.computes_in_half(node) ? Home::half : Home::single;
    if (touches)
      ++(home == Home::half ? context_.result.converted_nodes : context_.result.kept_nodes);
    for (int i = 0; i < node.input_size(); ++i)
      node.set_input(i, as(node.input(i), is_float32_only_input(node, i) ? Home::single : home));
    if (home == Home::half && node.output_size() > 0 && is_single(graph_, node.output(0)))
      context_.add_clamped(convert_generator(context_.source, node));
    for (AttributeProto& value : *node.mutable_attribute()) {
      if (value.has_g()) GraphConverter(context_, *value.mutable_g(), homes_, home).run(false);
      for (GraphProto& subgraph : *value.mutable_graphs())
        GraphConverter(context_, subgraph, homes_, home).run(false);
    }
    for (const std::string& output : node.output())
      if (is_single(graph_, output)) homes_[output] = home;
    nodes_.push_back(node);
  }

  // A subgraph's outputs are matched by position, so an output may be renamed to the cast value.
  void write_subgraph_output(ValueInfoProto& output) {
    if (!homes_.contains(output.name())) return;
    output.set_name(as(output.name(), boundary_));
    homes_[output.name()] = boundary_;
  }

  // A model output keeps its name: if its value is stored in the other precision, the value is
  // renamed and a Cast writes the output.
  void write_model_output(const std::string& name) {
    const auto found = homes_.find(name);
    if (found == homes_.end() || found->second == boundary_) return;
    const Home home = found->second;
    const std::string inner = context_.fresh_name(name + suffix_of(home));
    for (NodeProto& node : nodes_) rename(node, name, inner);
    for (TensorProto& tensor : *graph_.mutable_initializer())
      if (tensor.name() == name) tensor.set_name(inner);
    if (const auto casted = casts_.extract(name)) casts_[inner] = casted.mapped();
    nodes_.push_back(make_cast(inner, name, boundary_));
    ++context_.result.casts;
    homes_[inner] = home;
    homes_[name] = boundary_;
  }

  void convert_weights() {
    std::vector<TensorProto> originals;
    for (TensorProto& tensor : *graph_.mutable_initializer()) {
      const auto home = homes_.find(tensor.name());
      if (tensor.data_type() != TensorProto::FLOAT || home == homes_.end()) continue;
      if (home->second != Home::half) continue;
      if (casts_.contains(tensor.name())) originals.push_back(original_for_readers(tensor));
      context_.add_clamped(convert_weight(context_.source, tensor));
      ++context_.result.converted_weights;
    }
    for (TensorProto& tensor : originals) *graph_.add_initializer() = std::move(tensor);
  }

  // The float32 weight for readers in float32. It replaces the Cast of the float16 weight and takes
  // the name of that Cast's output.
  TensorProto original_for_readers(const TensorProto& tensor) {
    const std::string casted = casts_.at(tensor.name());
    std::erase_if(nodes_, [&](const NodeProto& node) {
      return node.op_type() == "Cast" && node.output(0) == casted;
    });
    --context_.result.casts;
    TensorProto original = tensor;
    original.set_name(casted);
    return original;
  }

  void retype_values() {
    for (auto* values :
         {graph_.mutable_input(), graph_.mutable_output(), graph_.mutable_value_info()})
      for (ValueInfoProto& value : *values) {
        const auto home = homes_.find(value.name());
        if (home == homes_.end() || !value.has_type()) continue;
        auto* type = value.mutable_type();
        if (type->has_sequence_type()) type = type->mutable_sequence_type()->mutable_elem_type();
        if (type->has_optional_type()) type = type->mutable_optional_type()->mutable_elem_type();
        if (type->has_tensor_type())
          type->mutable_tensor_type()->set_elem_type(type_of(home->second));
      }
  }

  Context& context_;
  GraphProto& graph_;
  Homes homes_;
  Home boundary_;
  std::vector<NodeProto> nodes_;                        // of the converted graph
  std::unordered_map<std::string, std::string> casts_;  // tensor -> its cast in the other precision
};

}  // namespace

Fp16Result convert_to_fp16(const Model& model, const Fp16Options& options) {
  Fp16Result result{.model = model.clone()};
  GraphProto& graph = result.model.graph();
  Context context{model, Fp16Policy(model, options), infer_dtypes(graph), names_in(graph), result};
  GraphConverter(context, graph, {}, options.fp16_io ? Home::half : Home::single).run(true);
  if (result.converted_nodes + result.converted_weights == 0)
    throw Error(fmt::format(
        "[fp16] {}: no float32 operator can be converted; is it float16 or quantized already?",
        model.name()));
  return result;
}

}  // namespace vernier
