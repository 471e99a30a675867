#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <set>

#include "vernier/analysis/quantize/repair.h"
#include "vernier/analysis/quantize/shipped.h"
#include "vernier/analysis/quantize/tune_search.h"
#include "vernier/error.h"

namespace vernier {
namespace {

// Names of nodes (or inputs) that have a quantizer, in execution order, then of nodes with
// quantized weights.
std::vector<std::string> quantized_nodes(const ModelIndex& candidate,
                                         const ShippedQuantizers& shipped) {
  std::vector<std::string> names;
  std::set<std::string> known;
  const auto add = [&](const std::string& name) {
    if (known.insert(name).second) names.push_back(name);
  };
  for (const auto& activation : shipped.activations)
    for (const std::string& tensor : activation.tensors) add(owner_of(candidate, tensor));
  for (const auto& node : shipped.nodes) add(node.name);
  return names;
}

double cost_of(const std::string& name, TuneCost cost, const ModelIndex& candidate,
               const ShippedQuantizers& shipped) {
  const auto found = std::ranges::find(shipped.nodes, name, &ShippedQuantizers::Node::name);
  if (found == shipped.nodes.end() || !found->weight.original)
    return tune_cost(cost, 0, 0, nullptr);
  const Tensor& weight = *found->weight.original;
  const int axis = found->weight.channel_axis;
  const auto output =
      candidate.main().declared_shape(candidate.model().graph().node(found->node).output(0));
  return tune_cost(cost, static_cast<double>(weight.size()),
                   axis < 0 ? 0 : weight.shape[static_cast<std::size_t>(axis)],
                   output ? &*output : nullptr);
}

// A quantized model in Q-DQ form and its quantizers.
struct Shipped {
  Shipped(const ModelIndex& model, const ModelIndex& float_model,
          ShippedWeights weights = ShippedWeights::read)
      : pairs(with_pairs(model, float_model)),
        index(pairs ? *pairs : model),
        quantizers(find_shipped(index, float_model, weights)),
        nodes(quantized_nodes(index, quantizers)) {}
  std::unique_ptr<const ModelIndex> pairs;
  const ModelIndex& index;
  ShippedQuantizers quantizers;
  std::vector<std::string> nodes;
};

// Whether the node's float weight is known, even if other nodes read the weight, too.
bool has_float_weight(const Shipped& shipped, const ShippedQuantizers::Node& node) {
  return node.weight.original ||
         std::ranges::any_of(shipped.quantizers.constants, [&](const auto& constant) {
           return constant.node == node.node && constant.input == 1;
         });
}

}  // namespace

Model keep_nodes(const ModelIndex& candidate, const ModelIndex& reference,
                 const std::vector<std::string>& nodes) {
  require_float("tune", reference.model());
  const Shipped shipped(candidate, reference);
  for (const std::string& node : nodes)
    if (std::ranges::find(shipped.nodes, node) == shipped.nodes.end())
      throw Error(
          fmt::format("[tune] --keep '{}': {} has no Q-DQ pair of constant scale at a node or "
                      "input of that name; vernier debug lists the names",
                      node, candidate.model().name()));
  for (const auto& node : shipped.quantizers.nodes)
    if (std::ranges::find(nodes, node.name) != nodes.end() && !has_float_weight(shipped, node))
      throw Error(fmt::format("[tune] --keep '{}': its float weight is not in {}", node.name,
                              reference.model().name()));
  return keep_in_float(shipped.index, shipped.quantizers, nodes);
}

bool can_keep_nodes(const ModelIndex& candidate, const ModelIndex& reference,
                    const std::vector<std::string>& nodes) {
  const Shipped shipped(candidate, reference, ShippedWeights::left);
  return std::ranges::all_of(nodes, [&](const std::string& node) {
    return std::ranges::find(shipped.nodes, node) != shipped.nodes.end();
  });
}

TuneResult tune_shipped(const ModelIndex& candidate, const ModelIndex& reference_index,
                        Samples& samples, const TuneShippedOptions& options) {
  const Model& reference = reference_index.model();
  require_float("tune", reference);
  const Shipped shipped(candidate, reference_index);
  const std::vector<std::string>& names = shipped.nodes;
  if (names.empty())
    throw Error(
        fmt::format("[tune] {}: has no Q-DQ pairs of constant scales; of quantized models only "
                    "such can be tuned. A float model is quantized and tuned without --reference",
                    candidate.model().name()));
  SharedSamples shared(samples);
  const SampleParts parts = split_samples(samples.size(), true);
  require_choosing("tune", parts, samples);
  std::vector<std::int64_t> choosing = parts.calibration;  // nothing is calibrated
  choosing.insert(choosing.end(), parts.choosing.begin(), parts.choosing.end());
  std::ranges::sort(choosing);
  const OutputScorer chooser(reference, {shared, choosing, options.threads, options.records});
  const OutputScorer held_back(reference,
                               {shared, parts.held_back, options.threads, options.records});
  const auto total = std::ssize(names);
  std::int64_t done = 0;
  bool go_on = true;
  TunedModel tuned{.nodes = {},
                   .write =
                       [&](const std::vector<std::string>& kept) {
                         return keep_in_float(shipped.index, shipped.quantizers, kept);
                       },
                   .write_alone =
                       [&](std::size_t node) {
                         std::vector<std::string> others = names;
                         others.erase(others.begin() + static_cast<std::ptrdiff_t>(node));
                         return keep_in_float(shipped.index, shipped.quantizers, others);
                       },
                   .choosing = chooser,
                   .held_back = held_back,
                   .go_on =
                       [&] {
                         if (options.progress && !options.progress(std::min(done++, total), total))
                           go_on = false;
                         return go_on;
                       }};
  for (const std::string& name : names)
    tuned.nodes.push_back({name, cost_of(name, options.cost, shipped.index, shipped.quantizers)});
  TuneResult result = search_kept(tuned, options.target);
  result.model = tuned.write(result.kept);
  result.interrupted = !go_on;
  if (result.interrupted) result.verdict = interrupted_verdict(std::move(result.verdict));
  return result;
}

}  // namespace vernier
