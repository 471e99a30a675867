#include "vernier/analysis/debug/activation_sites.h"

#include <vernier_onnx.pb.h>

#include "vernier/model/graph.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;

// Before opset 11 the bounds of a Clip are attributes, then inputs.
std::optional<ClipRange> clip_range(const NodeProto& node, const CounterpartFinder& counterparts) {
  if (is_op(node, "Relu")) return ClipRange{.low = 0};
  if (!is_op(node, "Clip")) return std::nullopt;
  ClipRange range;
  if (attribute(node, "min")) range.low = attribute_float(node, "min", 0);
  if (attribute(node, "max")) range.high = attribute_float(node, "max", 0);
  for (int i = 1; i < node.input_size(); ++i) {
    if (node.input(i).empty()) continue;
    if (!counterparts.weights().contains(node.input(i))) return std::nullopt;
    const Tensor bound = counterparts.read_weight(node.input(i));
    if (bound.size() != 1) return std::nullopt;
    (i == 1 ? range.low : range.high) = elements<float>(bound)[0];
  }
  return range.low <= range.high ? std::optional(range) : std::nullopt;
}

// By the tensors that a Relu, or a Clip with constant bounds, of the float model writes.
NameMap<ClipRange> clip_ranges(const CounterpartFinder& counterparts) {
  const TensorLabels labels(counterparts.model().graph());
  NameMap<ClipRange> ranges;
  for (const Subgraph& subgraph : all_subgraphs(counterparts.model().graph()))
    for (const NodeProto& node : subgraph.graph->node())
      if (const auto range = clip_range(node, counterparts))
        ranges[labels(subgraph.path, node.output(0))] = *range;
  return ranges;
}

// Operators that a quantizer may fold into the range of the quantizer behind them.
bool is_clipping_op(const std::string& op) { return op == "Relu" || op == "Clip"; }

}  // namespace

ActivationSites::ActivationSites(const Quantization& quantization,
                                 const std::vector<Counterpart>& activation_counterparts,
                                 const CounterpartFinder& counterparts) {
  const NameMap<ClipRange> clips = clip_ranges(counterparts);
  for (std::size_t i = 0; i < quantization.activations.size(); ++i) {
    ActivationSite site{.activation = quantization.activations[i],
                        .counterpart = activation_counterparts[i]};
    if (const auto clip = clips.find(site.counterpart.tensor);
        clip != clips.end() && !is_clipping_op(site.activation.writer_op))
      site.folded = clip->second;
    const auto range = representable_range(site.activation.quantizer);
    if (range && !site.activation.before.empty())
      site.noise = NoiseSite{*range, site.folded.value_or(ClipRange{})};
    sites_.push_back(std::move(site));
  }
  for (const std::string& output : quantization.outputs)
    sites_.push_back({.activation = {.name = output, .after = output},
                      .counterpart = counterparts.tensor(output)});
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    const QuantizedActivation& activation = sites_[i].activation;
    met_[activation.after.empty() ? activation.stored : activation.after].leaving.push_back(i);
    if (!activation.before.empty()) met_[activation.before].entering.push_back(i);
  }
}

const ActivationSites::SitesOfTensor* ActivationSites::at(std::string_view tensor) const {
  const auto found = met_.find(tensor);
  return found == met_.end() ? nullptr : &found->second;
}

std::vector<std::string> ActivationSites::tensors() const {
  std::vector<std::string> names;
  for (const auto& [name, met] : met_) names.push_back(name);
  return names;
}

PairedTensors ActivationSites::pairs() const {
  PairedTensors pairs;
  for (const ActivationSite& site : sites_) {
    const QuantizedActivation& activation = site.activation;
    if (activation.only_way && activation.quantizer.scale.dtype == DType::f32 &&
        at(activation.before)->entering.size() == 1 && at(activation.before)->leaving.empty())
      pairs[activation.after] = activation.before;
  }
  return pairs;
}

void ActivationSites::set_paired(const PairedTensors& pairs) {
  for (ActivationSite& site : sites_) {
    const auto found = pairs.find(site.activation.after);
    site.paired = found != pairs.end() && found->second == site.activation.before;
  }
}

RequestCounts ActivationSites::requests_after() const {
  RequestCounts requests;
  for (const ActivationSite& site : sites_)
    if (site.counterpart) ++requests[site.counterpart.tensor];
  return requests;
}

RequestCounts ActivationSites::requests_before() const {
  RequestCounts requests;
  for (const ActivationSite& site : sites_)
    if (site.counterpart && !site.activation.before.empty()) ++requests[site.counterpart.tensor];
  return requests;
}

}  // namespace vernier
