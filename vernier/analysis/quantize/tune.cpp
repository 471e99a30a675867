#include "vernier/analysis/quantize/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "vernier/analysis/quantize/quantizing.h"
#include "vernier/error.h"
#include "vernier/model/index.h"
#include "vernier/model/tensor_data.h"

namespace vernier {
namespace {

constexpr std::int64_t ranking_samples = 8;
constexpr double parallel_cosine = 0.9;
// How often more is asked for where held-back samples miss the target, and how much beyond it.
constexpr int most_attempts = 4;
constexpr double margin_db = 0.1;

// The target's metric; of the SQNR the end of its interval that is worse, so that the target holds
// on other samples too.
double value_of(const OutputScore& score, const OutputScorer& scorer, const std::string& metric,
                bool careful) {
  if (metric == "sqnr_db") {
    const double value = score.sqnr_db();
    return careful && std::isfinite(value) ? sqnr_interval(score).low : value;
  }
  const double none = std::numeric_limits<double>::quiet_NaN();
  if (metric == "agreement") return score.agreement.value_or(none);
  if (!score.accuracy || !scorer.reference_accuracy()) return none;
  return *scorer.reference_accuracy() - *score.accuracy;
}

bool is_reached(const Limit& target, double value) {
  return !std::isnan(value) && !within(target, value);
}

double cosine(const std::vector<float>& first, const std::vector<float>& second) {
  double product = 0, squares = 0, other_squares = 0;
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    product += double(first[i]) * second[i];
    squares += double(first[i]) * first[i];
    other_squares += double(second[i]) * second[i];
  }
  return squares > 0 && other_squares > 0 ? product / std::sqrt(squares * other_squares) : 0;
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
    // What a node writes belongs to it, too.
    const bool written = std::ranges::any_of(
        nodes, [&](std::size_t node) { return plan.nodes[node].output == plan.tensors[i].name; });
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

class Tuning {
 public:
  Tuning(const Model& model, Samples& samples, const TuneOptions& options)
      : options_(options), quantizing_(model, &samples, set_choosing_apart(options_.quantize)) {
    if (quantizing_.parts().choosing.empty())
      throw Error(
          fmt::format("[tune] {} samples are too few to choose and judge by; give at least "
                      "16, better 128 or more",
                      samples.size()));
  }

  TuneResult run() {
    quantizing_.calibrate();
    quantizing_.search();
    scorer_.emplace(quantizing_.reference(), quantizing_.runs(quantizing_.parts().choosing));
    held_.emplace(quantizing_.reference(), quantizing_.runs(quantizing_.parts().held_back));
    result_.base_value = evaluate(0);
    require_measured();
    if (!is_reached(wanted_, result_.base_value)) rank();
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
      if (!is_reached(wanted_, evaluate_kept()) && !choose()) break;
      result_.value = held_back_value();
      if (is_reached(options_.target, result_.value) || !ask_for_more()) break;
      if (result_.groups.empty()) rank();
    }
    return finish();
  }

 private:
  double held_back_value() {
    return value_of(held_->score(write(kept_nodes())), *held_, options_.target.metric, false);
  }

  // What was reached on the samples that chose is missed on others: of those that chose, as much
  // more is wanted. Only of decibels, of which there is always more to be had.
  bool ask_for_more() {
    if (options_.target.metric != "sqnr_db" || !quantizing_.go_on()) return false;
    wanted_.value = evaluate_kept() + options_.target.value - result_.value + margin_db;
    return std::isfinite(wanted_.value);
  }

  void require_measured() const {
    if (!std::isnan(result_.base_value)) return;
    throw Error(fmt::format("[tune] --target {}: could not be measured; {}", options_.target.metric,
                            options_.target.metric == "top1_accuracy_drop"
                                ? "give a labelled --dataset and a model that returns class scores"
                                : "the output is no table of class scores, or not finite"));
  }

  std::vector<std::string> kept_nodes() const {
    std::vector<std::string> names;
    for (const SensitiveGroup& group : result_.groups)
      if (group.kept) names.insert(names.end(), group.nodes.begin(), group.nodes.end());
    return names;
  }

  Model write(const std::vector<std::string>& kept) {
    const auto [plan, choices] = without(kept);
    return quantizing_.write(plan, choices);
  }

  std::pair<PlacementPlan, QuantizationChoices> without(const std::vector<std::string>& kept) {
    QuantizationChoices choices = quantizing_.choices();
    if (options_.fallback == TuneFallback::bits16) {
      choices.activation_bits = wide_tensors(kept);
      return {quantizing_.plan(), std::move(choices)};
    }
    return {quantizing_.plan_keeping(kept), std::move(choices)};
  }

  std::map<std::string, int> wide_tensors(const std::vector<std::string>& kept) const {
    const PlacementPlan& plan = quantizing_.plan();
    std::map<std::string, int> bits;
    for (const PlacedNode& node : plan.nodes)
      if (std::ranges::find(kept, node.name) != kept.end())
        for (const std::size_t tensor : node.tensors)
          bits[plan.tensors[plan.tensors[tensor].root].name] = 16;
    return bits;
  }

  // With the first groups kept.
  double evaluate(std::size_t groups) {
    for (std::size_t i = 0; i < result_.groups.size(); ++i) result_.groups[i].kept = i < groups;
    return evaluate_kept();
  }

  double evaluate_kept() {
    const std::vector<std::string> kept = kept_nodes();
    const double value =
        value_of(scorer_->score(write(kept)), *scorer_, options_.target.metric, true);
    result_.curve.push_back({std::ssize(kept), value});
    return value;
  }

  // The noise of each node alone, and which of them err in parallel.
  void rank() {
    const PlacementPlan& plan = quantizing_.plan();
    std::vector<std::vector<float>> errors;
    std::vector<double> noise;
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
      const Model alone =
          write_quantized(quantizing_.float_model(), only(plan, {i}), quantizing_.choices());
      errors.push_back(scorer_->errors(alone, ranking_samples));
      double sum = 0;
      for (const float error : errors.back()) sum += double(error) * error;
      noise.push_back(sum);
      quantizing_.report(std::ssize(quantizing_.parts().calibration));
      if (!quantizing_.go_on()) break;
    }
    group(plan, errors, noise);
  }

  void group(const PlacementPlan& plan, const std::vector<std::vector<float>>& errors,
             const std::vector<double>& noise) {
    double total = 0;
    for (const double each : noise) total += each;
    std::vector<bool> taken(noise.size());
    for (std::size_t i = 0; i < noise.size(); ++i) {
      if (taken[i]) continue;
      SensitiveGroup group{.nodes = {plan.nodes[i].name},
                           .noise_share = total > 0 ? noise[i] / total : 0,
                           .cost = cost_of(plan.nodes[i])};
      for (std::size_t j = i + 1; j < noise.size(); ++j)
        if (!taken[j] && cosine(errors[i], errors[j]) > parallel_cosine) {
          taken[j] = true;
          group.nodes.push_back(plan.nodes[j].name);
          group.noise_share += total > 0 ? noise[j] / total : 0;
          group.cost += cost_of(plan.nodes[j]);
        }
      result_.groups.push_back(std::move(group));
    }
    std::ranges::stable_sort(result_.groups, std::greater{}, [](const SensitiveGroup& each) {
      return each.noise_share / std::max(each.cost, 1.0);
    });
  }

  // Latency by the products that the node computes for each output value.
  double cost_of(const PlacedNode& node) const {
    if (options_.cost == TuneCost::nodes) return 1;
    double elements = 0;
    const ModelIndex index(quantizing_.float_model());
    for (const std::size_t weight : node.weights)
      if (const auto* proto = index.main().constant(quantizing_.plan().weights[weight].name))
        elements += static_cast<double>(weight_bytes(*proto)) / 4;
    if (options_.cost == TuneCost::bytes || node.channels == 0) return std::max(elements, 1.0);
    const auto shape = index.main().declared_shape(node.output);
    double outputs = 1;
    if (shape)
      for (const std::int64_t dim : *shape)
        outputs *= static_cast<double>(std::max<std::int64_t>(dim, 1));
    return std::max(1.0, outputs * elements / static_cast<double>(node.channels));
  }

  // The shortest prefix that reaches what is wanted, less what it is reached without; false where
  // all groups together do not.
  bool choose() {
    std::size_t low = 0, high = result_.groups.size();
    if (!is_reached(wanted_, evaluate(high))) return false;
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      (is_reached(wanted_, evaluate(middle)) ? high : low) = middle;
      if (!quantizing_.go_on()) break;
    }
    for (std::size_t i = 0; i < result_.groups.size(); ++i) result_.groups[i].kept = i < high;
    for (std::size_t i = high; i-- > 0 && quantizing_.go_on();) {
      result_.groups[i].kept = false;
      if (!is_reached(wanted_, evaluate_kept())) result_.groups[i].kept = true;
    }
    return true;
  }

  TuneResult finish() {
    result_.kept = kept_nodes();
    if (options_.fallback == TuneFallback::bits16)
      quantizing_.set_activation_bits(wide_tensors(result_.kept));
    else
      quantizing_.keep_in_float(result_.kept);
    const auto key = [](const CurvePoint& point) {
      return std::pair(point.kept_nodes, point.value);
    };
    std::ranges::sort(result_.curve, {}, key);
    const auto repeated = std::ranges::unique(result_.curve, {}, key);
    result_.curve.erase(repeated.begin(), repeated.end());
    result_.value = held_back_value();
    result_.reached = is_reached(options_.target, result_.value);
    TuneResult result = std::move(result_);
    result.quantized = quantizing_.finish();
    return result;
  }

  TuneOptions options_;
  Quantizing quantizing_;
  Limit wanted_ = options_.target;  // on the samples that choose
  std::optional<OutputScorer> scorer_, held_;
  TuneResult result_;
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
  const std::vector<std::string> metrics = {"sqnr_db", "agreement", "top1_accuracy_drop"};
  try {
    return parse_limit(text, metrics);
  } catch (const Error&) {
    throw Error(
        fmt::format("[tune] --target '{}': expected METRIC>VALUE or METRIC<VALUE with one "
                    "of {}, as in 'sqnr_db>30'",
                    text, fmt::join(metrics, ", ")));
  }
}

TuneResult tune(const Model& model, Samples& samples, const TuneOptions& options) {
  return Tuning(model, samples, options).run();
}

}  // namespace vernier
