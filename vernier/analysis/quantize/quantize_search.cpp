#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <set>

#include "vernier/analysis/quantize/equalize.h"
#include "vernier/analysis/quantize/quantizing.h"
#include "vernier/model/graph.h"

namespace vernier {
namespace {

// Samples for measuring the noise of one tensor's quantizer alone.
constexpr std::int64_t alone_samples = 64;
// Effort::tune keeps up to a sixth of the nodes (at least one) in float, if each gains this much.
constexpr double worth_a_node_db = 0.5;
constexpr std::int64_t nodes_for_one_in_float = 6;
constexpr std::size_t tried_in_float = 4;

// The placed node that a tensor's quantizer belongs to: the Conv that writes it, else a reader.
// Empty if none.
std::string node_of(const PlacementPlan& plan, const std::string& tensor) {
  for (const PlacedNode& node : plan.nodes)
    if (node.quantized_output == tensor && node.op == "Conv") return node.name;
  for (const PlacedNode& node : plan.nodes)
    for (const std::size_t read : node.tensors)
      if (plan.tensors[plan.tensors[read].root].name == tensor) return node.name;
  return "";
}

}  // namespace

void Quantizing::search() {
  if (options_.effort == Effort::fast || parts_.choosing.empty() || !go_on_) return;
  equalize_channels();
  search_blocks();
  // A 4-bit decoder has no activation ranges to choose, and its biases are not corrected.
  if (choices_.precision.weight_bits == 4 && chooser().scores_tokens()) return;
  search_choices_by_score();
  if (options_.effort != Effort::tune || !options_.precision.needs_calibration()) return;
  const std::size_t kept = kept_.size();
  keep_noisiest_in_float();
  if (kept_.size() > kept) search_choices_by_score();
}

// Chooses how block-quantized weights are rounded, from the inputs of their products.
void Quantizing::search_blocks() {
  if (choices_.precision.weight_bits != 4 || choices_.precision.activation_bits > 0) return;
  const std::vector<TensorSpec> graph_inputs = prepared_.model.inputs();
  std::vector<std::string> inputs;
  for (const PlacedWeight& weight : plan_.weights) {
    const auto& node = prepared_.model.graph().node(weight.reader.node);
    const bool is_product = is_op(node, "MatMul") || is_op(node, "Gemm");
    if (!is_product || weight.reader.input != 1 || std::ranges::count(inputs, node.input(0)) > 0 ||
        std::ranges::count(graph_inputs, node.input(0), &TensorSpec::name) > 0)
      continue;
    inputs.push_back(node.input(0));
  }
  if (inputs.empty()) return;
  choices_.packed = std::make_shared<PackedWeights>(
      measure_moments(prepared_.model, inputs, runs(parts_.calibration)));
  score_.reset();
  for (const BlockRule rule : {BlockRule::scales, BlockRule::feedback}) {
    report(std::ssize(parts_.calibration));
    if (!go_on_) return;
    QuantizationChoices tried = choices_;
    tried.blocks.rule = rule;
    OutputScore scored = chooser().score(write(plan_, tried));
    Decision decision{
        .choice = fmt::format("weights: {}", block_rule_name(rule)),
        .sqnr_db = scored.sqnr_db(),
        .gain = gain(score(), scored),
        .kl_mean = chooser().scores_tokens() ? std::optional(scored.kl_mean()) : std::nullopt};
    decision.kept = decision.gain.proven();
    if (decision.kept) {
      choices_ = std::move(tried);
      score_ = std::move(scored);
    }
    decisions_.push_back(std::move(decision));
  }
}

void Quantizing::search_choices_by_score() {
  const SampleRuns calibration = runs(parts_.calibration);
  const SearchSubject subject{
      .reference = prepared_.model,
      .nodes = plan_.nodes,
      .weights = plan_.weights,
      .values = values_,
      .scorer = chooser(),
      .calibration = calibration,
      .write = [this](const QuantizationChoices& choices) { return write(plan_, choices); },
      .noise_alone =
          [this](std::span<const RangeTrial> trials, int bits) {
            return QuantizersAlone(*index_, plan_, runs(parts_.choosing), alone_samples)
                .measure(trials, bits);
          },
      .effort = options_.effort,
      .go_on =
          [this] {
            report(std::ssize(parts_.calibration));
            return go_on_;
          }};
  SearchResult found = search_choices(subject, choices_, score_);
  choices_ = std::move(found.choices);
  score_ = std::move(found.score);
  decisions_.insert(decisions_.end(), found.decisions.begin(), found.decisions.end());
}

bool Quantizing::scales_channels() const {
  return options_.effort != Effort::fast && options_.precision.activation_bits == 8 &&
         options_.given_ranges.empty() && !parts_.choosing.empty();
}

// Tries cross-layer equalisation: a float model with the same outputs, kept if quantizing it loses
// less.
void Quantizing::equalize_channels() {
  std::optional<Model> scaled = extremes_ ? equalize(prepared_.model, *extremes_) : std::nullopt;
  if (!scaled) return;
  CalibrationValues values = vernier::calibrate(*scaled, plan_, runs(parts_.calibration));
  QuantizationChoices tried = choices_;
  tried.ranges = ranges_by(RangeRule::minmax, values, options_.precision.activation_bits);
  OutputScore after =
      chooser().score_promising(write_quantized(ModelIndex(*scaled), plan_, tried), score());
  decisions_.push_back(decide("cross-layer equalisation", score(), after));
  if (!decisions_.back().kept) return;
  unscaled_ = std::move(prepared_.model);
  prepared_.model = std::move(*scaled);
  index_.emplace(prepared_.model);
  values_ = std::move(values);
  choices_ = std::move(tried);
  score_ = std::move(after);
}

std::vector<std::string> Quantizing::noisiest_nodes() {
  std::vector<RangeTrial> trials;
  for (const PlacedTensor& placed : plan_.tensors)
    if (choices_.ranges.contains(placed.name) && plan_.tensors[placed.root].name == placed.name)
      trials.push_back({placed.name, choices_.ranges.at(placed.name)});
  const std::vector<OutputNoise> noise =
      QuantizersAlone(*index_, plan_, runs(parts_.choosing), alone_samples)
          .measure(trials, options_.precision.activation_bits);
  std::vector<std::pair<double, std::string>> order;
  for (std::size_t i = 0; i < trials.size(); ++i)
    order.emplace_back(noise[i].total(), trials[i].tensor);
  std::ranges::sort(order, std::greater{});
  std::vector<std::string> nodes;
  for (const auto& [total, tensor] : order) {
    const std::string node = node_of(plan_, tensor);
    if (!node.empty() && std::ranges::count(nodes, node) == 0) nodes.push_back(node);
    if (nodes.size() == tried_in_float) break;
  }
  return nodes;
}

void Quantizing::keep_noisiest_in_float() {
  const std::int64_t nodes = std::ssize(plan_.nodes);
  const std::int64_t most =
      std::min(std::max<std::int64_t>(1, nodes / nodes_for_one_in_float), nodes / 2);
  for (std::int64_t kept = 0; kept < most && go_on_; ++kept) {
    struct Found {
      std::string node;
      OutputScore score;
      std::size_t decision;
    };
    std::optional<Found> found;
    for (const std::string& node : noisiest_nodes()) {
      OutputScore scored = chooser().score(write(plan_keeping({node}), choices_));
      const Gain gained = gain(score(), scored);
      const bool helps = gained.proven() && gained.db > worth_a_node_db;
      decisions_.push_back({"in float", node, scored.sqnr_db(), gained, false});
      if (helps && (!found || scored.sqnr_db() > found->score.sqnr_db()))
        found = {node, std::move(scored), decisions_.size() - 1};
    }
    if (!found) return;
    decisions_[found->decision].kept = true;
    kept_.push_back(found->node);
    score_ = std::move(found->score);
    plan_ = plan_keeping({});
    forget_unplaced();
  }
}

// Drops calibration values of tensors that no longer have a quantizer of their own.
void Quantizing::forget_unplaced() {
  std::set<std::string> placed;
  for (const PlacedTensor& tensor : plan_.tensors)
    if (plan_.tensors[tensor.root].name == tensor.name) placed.insert(tensor.name);
  std::erase_if(values_, [&](const auto& each) { return !placed.contains(each.first); });
}

}  // namespace vernier
