#include "vernier/analysis/layers/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <unordered_set>

#include "vernier/analysis/evidence/recurrent_weights.h"
#include "vernier/analysis/layers/graph.h"
#include "vernier/error.h"
#include "vernier/model/edit.h"
#include "vernier/model/graph.h"
#include "vernier/model/scope.h"
#include "vernier/runtime/executed_graph.h"
#include "vernier/runtime/open_runner.h"

namespace vernier {
namespace {

// Only an ONNX model shows its outputs among its tensors.
std::vector<Layer> layers_of(const Runner& runner, ModelFormat format) {
  const auto is_output = [&](const std::string& name) {
    return format == ModelFormat::onnx &&
           std::ranges::find(runner.outputs(), name, &TensorSpec::name) != runner.outputs().end();
  };
  std::vector<Layer> layers;
  for (const WatchedTensor& tensor : runner.watched())
    layers.push_back({.name = tensor.name,
                      .type = tensor.type,
                      .is_output = is_output(tensor.name),
                      .source = tensor.source});
  return layers;
}

// Weights that a node only passes on, because exporters share them, are not layers.
Watch layers_to_watch(const ModelIndex& index) {
  if (runs_another_graph(index.model())) return Watch::all();
  std::vector<std::string> names = tensor_names(index.model());
  std::erase_if(names,
                [&](const std::string& name) { return stored_weight(index, name) != nullptr; });
  return Watch::only(std::move(names));
}

RunnerOptions watching(const LayersOptions& options) {
  RunnerOptions runner;
  runner.onnx = {.watch = Watch::all(), .threads = options.runtime.threads, .models_at_once = 2};
  runner.torch = {.watch_leaves = true, .threads = threads_of_each(options.runtime.threads, 2)};
  runner.host = options.host;
  runner.host.threads = runner.torch.threads;
  if (runner.host.watch == HostWatch::nothing) runner.host.watch = HostWatch::layers;
  return runner;
}

bool is_pytorch(ModelFormat format) {
  return format == ModelFormat::torchscript || format == ModelFormat::hosted;
}

std::unique_ptr<Runner> open_truth(const LayersOptions& options) {
  if (!is_pytorch(reference_format(options)))
    throw Error(
        fmt::format("[layers] {}: only a PyTorch reference can be run in float64; "
                    "leave --truth out",
                    options.reference.string()));
  RunnerOptions runner = watching(options);
  runner.torch.precision = runner.host.precision = DType::f64;
  return open_runner(options.reference, runner);
}

// One warning for each reason.
std::vector<Warning> unwatched_warnings(const std::vector<UnwatchedTensor>& unwatched) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const UnwatchedTensor& leaf : unwatched) by_reason[leaf.reason].push_back(leaf.name);
  std::vector<Warning> warnings;
  for (auto& [reason, names] : by_reason)
    warnings.push_back(
        {.kind = WarningKind::not_compared, .subject = reason, .more = std::move(names)});
  return warnings;
}

// Its operators write tensors in blocks of channels; others may pass these on, up to ReorderOutput.
constexpr std::string_view blocking_domain = "com.microsoft.nchwc";

// Tensor names are valid inside their graph and its subgraphs.
class Collector {
 public:
  explicit Collector(const ModelIndex& model) : model_(model) {}

  std::vector<CandidateTensor> collect() && {
    for (const auto& input : model_.main().graph().input())
      define(model_.main(), input.name(), {.is_input = true});
    for (const GraphIndex& graph : model_.graphs())
      for (const NodeProto& node : graph.graph().node())
        for (int i = 0; i < node.output_size(); ++i)
          if (!node.output(i).empty()) define(graph, node.output(i), describe(node, i));
    for (const GraphIndex& graph : model_.graphs())
      for (const NodeProto& node : graph.graph().node()) connect(graph, node);
    connect_subgraphs();
    for (const auto& output : model_.main().graph().output())
      if (const auto* found = find(model_.main(), output.name())) tensors_[*found].is_output = true;
    return std::move(tensors_);
  }

 private:
  static CandidateTensor describe(const NodeProto& node, int number) {
    const std::string& output = node.output(number);
    CandidateTensor tensor;
    if (is_recurrent_operator(node)) tensor.result = number;
    const auto metadata = module_path_in_metadata(node), recalled = recalled_module_path(node);
    tensor.layer = metadata ? *metadata : recalled ? *recalled : module_path_in_name(output);
    tensor.layer_is_metadata = metadata.has_value();
    tensor.layer_is_recalled = !metadata && recalled;
    tensor.source = source_line(node);
    if (number == 0 && node.domain().empty()) tensor.op = node.op_type();
    tensor.is_activated = !attribute_string(node, "activation").empty();
    tensor.is_moved = std::ranges::any_of(
        std::array{"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity"},
        [&](const char* op) { return is_op(node, op); });
    // A model output has a name of its own; its node tells the module.
    if (tensor.layer.empty()) tensor.layer = module_path_in_name(node.name());
    return tensor;
  }

  void define(const GraphIndex& graph, const std::string& name, CandidateTensor tensor) {
    tensor.name = graph.label(name);
    places_.emplace(std::pair(&graph, name), tensors_.size());
    tensors_.push_back(std::move(tensor));
  }

  // The place of a tensor in the list; null if it is an input of a subgraph, or a weight.
  const std::size_t* find(const GraphIndex& graph, const std::string& name) const {
    for (const GraphIndex* scope = &graph; scope; scope = scope->outer())
      if (const auto found = places_.find({scope, name}); found != places_.end())
        return &found->second;
    return nullptr;
  }

  void connect(const GraphIndex& graph, const NodeProto& node) {
    std::vector<std::size_t> inputs;
    for (const std::string& input : node.input())
      if (const auto* index = find(graph, input)) inputs.push_back(*index);
    const bool blocked = is_blocked(node, inputs);
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      const std::size_t place = *find(graph, output);
      CandidateTensor& tensor = tensors_[place];
      tensor.inputs = inputs;
      if (tensor.is_moved && !inputs.empty()) tensor.result = tensors_[inputs[0]].result;
      if (is_op(node, "Concat")) tensor.result = common_result(inputs);
      if (!blocked) continue;
      tensor.name = tensor.layer = "";
      blocked_.insert(place);
    }
  }

  // The result that all of them pass on: the states of several layers may be concatenated.
  std::optional<int> common_result(const std::vector<std::size_t>& inputs) const {
    if (inputs.empty()) return std::nullopt;
    const std::optional<int> first = tensors_[inputs[0]].result;
    const bool all = std::ranges::all_of(
        inputs, [&](std::size_t input) { return tensors_[input].result == first; });
    return all ? first : std::nullopt;
  }

  bool is_blocked(const NodeProto& node, const std::vector<std::size_t>& inputs) const {
    if (node.domain() == blocking_domain) return node.op_type() != "ReorderOutput";
    return std::ranges::any_of(inputs, [&](std::size_t input) { return blocked_.contains(input); });
  }

  // The outputs of a subgraph are the outputs of its node.
  void connect_subgraphs() {
    for (const GraphIndex& graph : model_.graphs() | std::views::drop(1))
      for (const auto& result : graph.graph().output())
        if (const auto* inner = find(graph, result.name()))
          for (const std::string& output : graph.owner()->output())
            if (!output.empty()) tensors_[*find(*graph.outer(), output)].inputs.push_back(*inner);
  }

  const ModelIndex& model_;
  std::map<std::pair<const GraphIndex*, std::string>, std::size_t> places_;  // in the list
  std::vector<CandidateTensor> tensors_;
  std::unordered_set<std::size_t> blocked_;
};

}  // namespace

ModelFormat reference_format(const LayersOptions& options) {
  return options.reference_model ? ModelFormat::onnx : model_format(options.reference);
}

LayersReference open_layers_reference(const LayersOptions& options) {
  LayersReference reference;
  if (options.truth) reference.truth = open_truth(options);
  const ModelFormat format = reference_format(options);
  RunnerOptions runner = watching(options);
  if (format == ModelFormat::onnx) {
    if (!options.reference_model)
      reference.own = std::make_unique<const ModelIndex>(Model::load(options.reference));
    reference.index = options.reference_model ? options.reference_model : reference.own.get();
    runner.onnx.watch = layers_to_watch(*reference.index);
    reference.runner = std::make_unique<OrtRunner>(reference.index->model().clone(), runner.onnx);
  } else {
    reference.runner = open_runner(options.reference, runner);
  }
  reference.layers = layers_of(*reference.runner, format);
  reference.is_recorded = format == ModelFormat::recorded;
  reference.warnings = reported(reference.runner->warnings());
  if (is_pytorch(format))
    for (Warning& warning : unwatched_warnings(reference.runner->unwatched()))
      reference.warnings.push_back(std::move(warning));
  if (reference.layers.empty())
    throw Error(
        fmt::format("[layers] {}: the reference shows no layers; export it with its module "
                    "hierarchy, or pass another --reference",
                    options.reference.string()));
  return reference;
}

std::vector<CandidateTensor> candidate_tensors(const ModelIndex& model) {
  return Collector(model).collect();
}

std::vector<CandidateTensor> candidate_tensors(std::span<const std::string> names) {
  std::vector<CandidateTensor> tensors;
  for (const std::string& name : names)
    tensors.push_back({.name = name, .layer = module_path_in_name(name)});
  return tensors;
}

}  // namespace vernier
