#include "vernier/model/convert_fp16.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "vernier/error.h"
#include "vernier/model/dtypes.h"
#include "vernier/model/fp16_constants.h"
#include "vernier/model/graph.h"
#include "vernier/model/index.h"
#include "vernier/model/make_node.h"
#include "vernier/tensor/name_pattern.h"

namespace vernier {
namespace {

// Every name in the model that an option can match.
struct Names {
  std::unordered_set<std::string> ops, nodes, tensors, weights;
};

Names names_of(const Model& model) {
  Names names;
  for (const Subgraph& subgraph : all_subgraphs(model.graph())) {
    for (const auto& tensor : subgraph.graph->initializer()) names.weights.insert(tensor.name());
    for (const NodeProto& node : subgraph.graph->node()) {
      names.ops.insert(node.op_type());
      names.nodes.insert(node.name());
      names.tensors.insert(node.output().begin(), node.output().end());
    }
  }
  names.tensors.insert(names.weights.begin(), names.weights.end());
  return names;
}

void require_matches(const Model& model, const char* kind, const std::vector<std::string>& patterns,
                     const std::unordered_set<std::string>& names) {
  for (const std::string& pattern : patterns)
    if (std::ranges::none_of(names, [&](const auto& name) { return matches_name(pattern, name); }))
      throw Error(fmt::format(
          "[fp16] --keep-fp32 {}:{} matches nothing in {}; see 'vernier inspect --tensors'", kind,
          pattern, model.name()));
}

bool has_subgraphs(const NodeProto& node) {
  bool found = false;
  for_each_subgraph(node, [&](const GraphProto&, const auto&) { found = true; });
  return found;
}

// Whether the operator requires this input in float32 even when it computes in float16.
bool is_float32_only_input(const NodeProto& node, int index) {
  if (node.op_type() == "Resize") return index == (node.input_size() == 2 ? 1 : 2);
  return node.op_type() == "Upsample" && index == 1;
}

// Decides which nodes compute in float16.
class Fp16Policy {
 public:
  // Throws Error if an option matches nothing in the model. `options` must outlive the policy.
  Fp16Policy(const Model& model, const Fp16Options& options) : options_(options) {
    Names names = names_of(model);
    require_matches(model, "op", options.keep_ops, names.ops);
    require_matches(model, "node", options.keep_nodes, names.nodes);
    require_matches(model, "tensor", options.keep_tensors, names.tensors);
    weights_ = std::move(names.weights);
  }

  // True for nodes with subgraphs (If, Loop, Scan) unless keep_nodes or keep_ops matches them;
  // false for operators outside the ONNX domain.
  bool computes_in_half(const NodeProto& node) const {
    if (matches_any_name(options_.keep_nodes, node.name())) return false;
    if (matches_any_name(options_.keep_ops, node.op_type())) return false;
    if (has_subgraphs(node)) return true;
    if (!is_onnx_domain(node.domain())) return false;
    if (options_.keep_default_ops && std::ranges::count(fp16_keep_ops(), node.op_type()) > 0)
      return false;
    return !touches_kept_tensor(node);
  }

  bool is_weight(const std::string& tensor) const { return weights_.contains(tensor); }

 private:
  bool touches_kept_tensor(const NodeProto& node) const {
    const auto is_kept = [&](const auto& name) {
      return matches_any_name(options_.keep_tensors, name);
    };
    return std::ranges::any_of(node.output(), is_kept) ||
           std::ranges::any_of(node.input(),
                               [&](const auto& name) { return is_weight(name) && is_kept(name); });
  }

  const Fp16Options& options_;
  std::unordered_set<std::string> weights_;  // initializers of any graph
};

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
  for_each_subgraph(node, [&](GraphProto& subgraph, const auto&) {
    if (GraphIndex(subgraph).defines(from)) return;
    for (NodeProto& inner : *subgraph.mutable_node()) rename(inner, from, to);
    for (ValueInfoProto& output : *subgraph.mutable_output())
      if (output.name() == from) output.set_name(to);
  });
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
    for_each_subgraph(node, [&](GraphProto& subgraph, const auto&) {
      GraphConverter(context_, subgraph, homes_, home).run(false);
    });
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

const std::vector<std::string>& fp16_keep_ops() {
  static const std::vector<std::string> ops = {
      // Not defined for float16, in some or all opsets.
      "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul",
      "NonMaxSuppression", "Range", "TfIdfVectorizer", "Celu", "IsInf",
      // In float16, crashes ONNX Runtime 1.30 when the model is loaded.
      "Gelu",
      // Sums and powers exceed float16's range or its 11-bit significand.
      "CumSum", "Pow", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean",
      "ReduceProd", "ReduceSum", "ReduceSumSquare", "BatchNormalization", "GroupNormalization",
      "InstanceNormalization", "LayerNormalization", "LpNormalization", "MeanVarianceNormalization",
      "RMSNormalization", "LogSoftmax", "Softmax"};
  return ops;
}

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
