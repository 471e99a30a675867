#include "vernier/analysis/quantize/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <set>

#include "vernier/analysis/quantize/quantizing.h"
#include "vernier/analysis/quantize/tune_search.h"
#include "vernier/error.h"
#include "vernier/model/index.h"
#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

void require_direction(const std::string& text, const Limit& target) {
  const bool more_is_better = target.metric == "sqnr_db" || target.metric == "agreement";
  const bool asks_for_more = operator_text(target).starts_with('>');
  if (more_is_better != asks_for_more)
    throw Error(fmt::format("[tune] --target '{}': {} is better the {} it is; pass '{}{}{}'", text,
                            target.metric, more_is_better ? "larger" : "smaller", target.metric,
                            more_is_better ? ">" : "<", target.value));
  if (target.metric == "agreement" && !(target.value <= 1))
    throw Error(fmt::format(
        "[tune] --target '{}': agreement is a share of 1, as in 'agreement>0.99'", text));
}

// The plan with only these nodes quantized.
PlacementPlan only(const PlacementPlan& plan, const std::set<std::size_t>& nodes) {
  PlacementPlan result;
  std::map<std::size_t, std::size_t> places;
  std::set<std::size_t> wanted;
  for (const std::size_t i : nodes)
    for (const std::size_t tensor : plan.nodes[i].tensors) {
      wanted.insert(tensor);
      wanted.insert(plan.tensors[tensor].root);
    }
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    // The quantizer of a node's output belongs to the node.
    const bool written = std::ranges::any_of(nodes, [&](std::size_t node) {
      return plan.nodes[node].quantized_output == plan.tensors[i].name;
    });
    if (!wanted.contains(i) && !written) continue;
    places[i] = result.tensors.size();
    result.tensors.push_back(plan.tensors[i]);
  }
  for (auto& [from, to] : places) {
    const auto root = places.find(plan.tensors[from].root);
    result.tensors[to].root = root == places.end() ? to : root->second;
  }
  for (const std::size_t i : nodes) {
    PlacedNode node = plan.nodes[i];
    for (std::size_t& tensor : node.tensors) tensor = places.at(tensor);
    for (std::size_t& weight : node.weights) {
      result.weights.push_back(plan.weights[weight]);
      weight = result.weights.size() - 1;
    }
    result.nodes.push_back(std::move(node));
  }
  return result;
}

const QuantizeOptions& set_choosing_apart(QuantizeOptions& options) {
  options.set_choosing_apart = true;
  return options;
}

// Tunes a float model that is quantized here.
class Tuning {
 public:
  Tuning(const Model& model, Samples& samples, const TuneOptions& options)
      : options_(options), quantizing_(model, &samples, set_choosing_apart(options_.quantize)) {
    require_choosing("tune", quantizing_.parts(), samples);
  }

  TuneResult run() {
    quantizing_.calibrate();
    quantizing_.search();
    quantizing_.calibrate_again();
    const OutputScorer held_back(quantizing_.reference(),
                                 quantizing_.runs(quantizing_.parts().held_back));
    TunedModel tuned{.nodes = {},
                     .write = [&](const std::vector<std::string>& kept) { return write(kept); },
                     .write_alone =
                         [&](std::size_t node) {
                           return write_quantized(quantizing_.float_model(),
                                                  only(quantizing_.plan(), {node}),
                                                  quantizing_.choices());
                         },
                     .choosing = quantizing_.chooser(),
                     .held_back = held_back,
                     .go_on =
                         [&] {
                           quantizing_.report(std::ssize(quantizing_.parts().calibration));
                           return quantizing_.go_on();
                         }};
    for (const PlacedNode& node : quantizing_.plan().nodes)
      tuned.nodes.push_back({node.name, cost_of(node)});
    return finish(search_kept(tuned, options_.target));
  }

 private:
  Model write(const std::vector<std::string>& kept) const {
    if (options_.fallback == TuneFallback::floating)
      return quantizing_.write(quantizing_.plan_keeping(kept), quantizing_.choices());
    return quantizing_.write(quantizing_.plan(), choices_keeping(kept));
  }

  // The choices with more bits for these nodes: for their inputs and outputs, or for their weights.
  QuantizationChoices choices_keeping(const std::vector<std::string>& kept) const {
    QuantizationChoices choices = quantizing_.choices();
    if (options_.fallback == TuneFallback::weights8) {
      choices.weight_bits = wide_weights(kept);
      return choices;
    }
    choices.activation_bits = wide_tensors(kept);
    for (const auto& [tensor, bits] : choices.activation_bits)
      if (const auto range = choices.ranges.find(tensor); range != choices.ranges.end() &&
                                                          range_rule_of(range->second) &&
                                                          choices.precision.activation_bits == 8)
        range->second = with_margin(range->second);
    return choices;
  }

  std::map<std::string, int> wide_tensors(const std::vector<std::string>& kept) const {
    const PlacementPlan& plan = quantizing_.plan();
    std::map<std::string, int> bits;
    for (const PlacedNode& node : plan.nodes)
      if (std::ranges::find(kept, node.name) != kept.end()) {
        for (const std::size_t tensor : node.tensors)
          bits[plan.tensors[plan.tensors[tensor].root].name] = 16;
        for (const PlacedTensor& tensor : plan.tensors)
          if (tensor.name == node.quantized_output) bits[plan.tensors[tensor.root].name] = 16;
      }
    return bits;
  }

  std::map<std::string, int> wide_weights(const std::vector<std::string>& kept) const {
    const PlacementPlan& plan = quantizing_.plan();
    std::map<std::string, int> bits = quantizing_.choices().weight_bits;
    for (const PlacedNode& node : plan.nodes)
      if (std::ranges::find(kept, node.name) != kept.end())
        for (const std::size_t weight : node.weights) bits[plan.weights[weight].name] = 8;
    return bits;
  }

  double cost_of(const PlacedNode& node) const {
    const GraphIndex& graph = quantizing_.float_model().main();
    double elements = 0;
    for (const std::size_t weight : node.weights)
      if (const auto* proto = graph.constant(quantizing_.plan().weights[weight].name))
        elements += static_cast<double>(weight_bytes(*proto)) / 4;
    const auto shape = graph.declared_shape(node.output);
    return tune_cost(options_.cost, elements, node.channels, shape ? &*shape : nullptr);
  }

  TuneResult finish(TuneResult result) {
    if (options_.fallback == TuneFallback::floating)
      quantizing_.keep_in_float(result.kept);
    else
      quantizing_.set_choices(choices_keeping(result.kept));
    // Nodes that search() kept in float are reported as kept, too.
    result.kept.insert(result.kept.begin(), quantizing_.kept().begin(), quantizing_.kept().end());
    QuantizeResult quantized = quantizing_.finish();
    result.model = std::move(quantized.model);
    result.float_model = std::move(quantized.float_model);
    result.warnings = std::move(quantized.warnings);
    result.interrupted = quantized.interrupted;
    if (result.interrupted) result.verdict = interrupted_verdict(std::move(result.verdict));
    return result;
  }

  TuneOptions options_;
  Quantizing quantizing_;
};

}  // namespace

std::string_view tune_cost_name(TuneCost cost) {
  switch (cost) {
    case TuneCost::nodes: return "nodes";
    case TuneCost::bytes: return "bytes";
    default: return "latency";
  }
}

TuneCost parse_tune_cost(std::string_view name) {
  for (const TuneCost cost : {TuneCost::nodes, TuneCost::bytes, TuneCost::latency})
    if (tune_cost_name(cost) == name) return cost;
  throw Error(fmt::format("[tune] --cost {}: expected nodes, bytes or latency", name));
}

Limit parse_target(const std::string& text) {
  const std::vector<std::string> metrics = {"sqnr_db", "agreement", "top1_accuracy_drop",
                                            "kl_mean"};
  std::optional<Limit> target;
  try {
    target = parse_limit(text, metrics);
  } catch (const Error&) {
    throw Error(
        fmt::format("[tune] --target '{}': expected METRIC>VALUE or METRIC<VALUE with one of {}, "
                    "as in 'sqnr_db>30'",
                    text, fmt::join(metrics, ", ")));
  }
  require_direction(text, *target);
  return *target;
}

TuneResult tune(const Model& model, Samples& samples, const TuneOptions& options) {
  return Tuning(model, samples, options).run();
}

}  // namespace vernier
