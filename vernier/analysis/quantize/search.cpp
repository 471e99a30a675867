#include "vernier/analysis/quantize/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "vernier/analysis/quantize/bias_correction.h"

namespace vernier {
namespace {

constexpr std::int64_t most_correction_samples = 64;
// A range replaces the one in use if its noise is at most this share of that one's noise.
constexpr double worthwhile = 0.97;
constexpr int most_tuning_rounds = 3;
constexpr double much_worse_db = 1;
// The rules of Effort::normal. The others hardly ever gain, and each has to be scored.
constexpr std::array usual_rules = {RangeRule::minmax, RangeRule::p99999, RangeRule::p9999,
                                    RangeRule::mse};

class Search {
 public:
  Search(const SearchSubject& subject, QuantizationChoices choices,
         std::optional<OutputScore> known)
      : subject_(subject), result_{std::move(choices), {}, {}} {
    best_ = known ? *std::move(known) : score(result_.choices);
  }

  SearchResult run() {
    choose_per_channel();
    if (subject_.effort == Effort::fast)
      choose_range_rule(range_rules);
    else if (subject_.effort == Effort::tune)
      tune();
    else
      choose_for_all(usual_rules);
    result_.score = std::move(best_);
    return std::move(result_);
  }

 private:
  const QuantizedPrecision& precision() const { return result_.choices.precision; }
  bool has_activations() const { return !subject_.values.empty(); }

  // Effort::tune scores all samples, even if the first ones look bad.
  OutputScore score(const QuantizationChoices& choices) {
    const Model candidate = subject_.write(choices);
    if (subject_.effort == Effort::tune || best_.noise.samples() == 0)
      return subject_.scorer.score(candidate);
    return subject_.scorer.score_promising(candidate, best_);
  }

  bool may_score() const { return subject_.go_on(); }

  // Scores the choices, and applies them if their gain is proven.
  bool consider(std::string choice, std::string subject, QuantizationChoices choices) {
    OutputScore scored = score(choices);
    Decision decision = decide(std::move(choice), best_, scored);
    decision.subject = std::move(subject);
    result_.decisions.push_back(std::move(decision));
    if (!result_.decisions.back().kept) return false;
    result_.choices = std::move(choices);
    best_ = std::move(scored);
    return true;
  }

  template <typename Change>
  void try_all(const std::string& name, Change change) {
    if (!may_score()) return;
    QuantizationChoices tried = result_.choices;
    change(tried);
    consider(name, "", std::move(tried));
  }

  void choose_for_all(std::span<const RangeRule> rules) {
    choose_range_rule(rules);
    if (subject_.effort == Effort::tune) choose_ranges_alone();
    choose_weight_rule();
    correct_biases();
    correct_last_bias();
  }

  void tune() {
    choose_by_branches();
    choose_ranges_by_tensor();
    try_all("symmetric activations",
            [](QuantizationChoices& choices) { choices.symmetric = true; });
    correct_biases();
    correct_last_bias();
  }

  // The range rule that is best by itself need not be best together with weight scales and bias
  // corrections. So these are chosen for each rule, and the best combination is kept.
  void choose_by_branches() {
    const Search start = *this;
    std::optional<Search> best;
    std::vector<Decision> others;
    for (const RangeRule& rule : range_rules) {
      if (!has_activations() && rule != range_rules.front()) break;
      Search branch = start;
      branch.choose_for_all({&rule, 1});
      if (best && !(branch.best_.sqnr_db() > best->best_.sqnr_db())) {
        add_left(others, branch, start);
        continue;
      }
      if (best) add_left(others, *best, start);
      best.emplace(branch);
    }
    result_ = std::move(best->result_);
    best_ = std::move(best->best_);
    noise_alone_ = std::move(best->noise_alone_);
    result_.decisions.insert(result_.decisions.end(), others.begin(), others.end());
  }

  // Records the decisions of a discarded branch.
  static void add_left(std::vector<Decision>& decisions, const Search& branch,
                       const Search& start) {
    for (std::size_t i = start.result_.decisions.size(); i < branch.result_.decisions.size(); ++i) {
      decisions.push_back(branch.result_.decisions[i]);
      decisions.back().kept = false;
    }
  }

  void choose_range_rule(std::span<const RangeRule> rules) {
    if (!has_activations()) return;
    for (const RangeRule rule : rules)
      if (rule != RangeRule::minmax || tries_minmax())
        try_all(fmt::format("ranges: {}", range_rule_name(rule)),
                [&](QuantizationChoices& choices) {
                  for (const auto& [tensor, values] : subject_.values)
                    if (choices.ranges[tensor].rule != "given")
                      choices.ranges[tensor] = range_of(tensor, rule);
                });
  }

  // Ranges of an existing model are by none of the rules, so that minmax is worth a try.
  bool tries_minmax() const {
    return std::ranges::any_of(result_.choices.ranges,
                               [](const auto& range) { return range.second.rule == "as shipped"; });
  }

  void choose_per_channel() {
    if (result_.choices.per_channel) return;
    try_all("per-channel weights",
            [](QuantizationChoices& choices) { choices.per_channel = true; });
  }

  void choose_weight_rule() {
    try_all("weight scales: mse", [&](QuantizationChoices& choices) {
      for (const PlacedWeight& weight : subject_.weights)
        choices.weight_rules[weight.name] = WeightRule::mse;
    });
  }

  SampleRuns correction_runs() const {
    SampleRuns runs = subject_.calibration;
    const auto most = std::min(most_correction_samples,
                               std::max<std::int64_t>(16, std::ssize(runs.indices) * 2 / 3));
    if (std::ssize(runs.indices) > most) runs.indices.resize(static_cast<std::size_t>(most));
    return runs;
  }

  // Channel means of the float model: independent of all choices.
  const std::vector<NodeMeans>& reference_means() {
    if (!reference_means_)
      reference_means_ = std::make_shared<const std::vector<NodeMeans>>(
          measure_means(subject_.reference, subject_.nodes, correction_runs()));
    return *reference_means_;
  }

  // Whether the shifts are not much worse than none on a few samples; Effort::tune takes all.
  bool is_promising(QuantizationChoices choices, const BiasShifts& shifts) {
    constexpr std::int64_t few_samples = 16;
    if (subject_.effort == Effort::tune) return true;
    choices.shifts = shifts;
    const OutputScore few = subject_.scorer.score_first(subject_.write(choices), few_samples);
    return gain(best_, few).db > -much_worse_db;
  }

  // Only static quantization of 8 bits or more writes corrected biases.
  bool corrects_biases() const {
    return precision().needs_calibration() && precision().weight_bits != 4;
  }

  void correct_biases() {
    if (!corrects_biases() || !may_score()) return;
    QuantizationChoices corrected = result_.choices;
    corrected.shifts.clear();
    corrected.shifts = find_bias_shifts(
        reference_means(), subject_.write(corrected), subject_.nodes, correction_runs(),
        [&](const BiasShifts& shifts) { return is_promising(corrected, shifts); });
    if (corrected.shifts.empty()) return;
    consider("bias correction", "", std::move(corrected));
  }

  // Removes the mean error that is left at the output. No layer follows that this would affect.
  void correct_last_bias() {
    if (!corrects_biases() || !may_score()) return;
    const auto last =
        std::find_if(subject_.nodes.rbegin(), subject_.nodes.rend(),
                     [](const PlacedNode& node) { return node.bias_reader && node.channels > 0; });
    if (last == subject_.nodes.rend()) return;
    QuantizationChoices corrected = result_.choices;
    for (const auto& [node, added] : find_bias_shifts(reference_means(), subject_.write(corrected),
                                                      {&*last, 1}, correction_runs())) {
      std::vector<double>& shift = corrected.shifts[node];
      shift.resize(added.size());
      std::ranges::transform(shift, added, shift.begin(), std::plus{});
    }
    consider("bias correction", last->name, std::move(corrected));
  }

  // For each tensor, chooses the range with the least noise if that tensor alone is quantized: few
  // samples are enough, since no other noise hides the difference. All these ranges together are
  // then scored like any other choice.
  void choose_ranges_alone() {
    if (!has_activations() || !subject_.noise_alone || precision().activation_bits != 8) return;
    std::vector<RangeTrial> trials;
    for (const auto& [tensor, values] : subject_.values)
      if (result_.choices.ranges.at(tensor).rule != "given") add_trials(tensor, trials);
    noise_alone_.clear();
    const std::vector<OutputNoise> noise =
        subject_.noise_alone(trials, precision().activation_bits);
    QuantizationChoices tried = result_.choices;
    std::map<std::string, double> least;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const auto [best, is_first] = least.emplace(trials[i].tensor, noise[i].total());
      if (is_first) noise_alone_.emplace_back(noise[i].total(), trials[i].tensor);
      if (!(noise[i].total() < worthwhile * best->second)) continue;
      best->second = noise[i].total();
      tried.ranges[trials[i].tensor] = trials[i].range;
    }
    std::ranges::sort(noise_alone_, std::greater{});
    if (!may_score() || tried.ranges == result_.choices.ranges) return;
    consider("ranges: each tensor by itself", "", std::move(tried));
  }

  // Adds the range in use first.
  void add_trials(const std::string& tensor, std::vector<RangeTrial>& trials) const {
    const std::size_t first = trials.size();
    const auto add = [&](CalibratedRange range) {
      if (std::ranges::none_of(trials.begin() + static_cast<std::ptrdiff_t>(first), trials.end(),
                               [&](const RangeTrial& trial) { return alike(trial.range, range); }))
        trials.push_back({tensor, std::move(range)});
    };
    add(result_.choices.ranges.at(tensor));
    for (const RangeRule rule : usual_rules) add(range_of(tensor, rule));
    for (const double factor : {1.1, 0.9, 0.8, 0.7, 0.6, 0.5})
      add(scaled(tensor, range_of(tensor, RangeRule::minmax), factor));
  }

  static bool alike(const CalibratedRange& first, const CalibratedRange& second) {
    return std::fabs(first.low - second.low) + std::fabs(first.high - second.high) <
           0.01 * (second.high - second.low);
  }

  CalibratedRange scaled(const std::string& tensor, const CalibratedRange& range,
                         double factor) const {
    return subject_.confine(tensor, {factor * range.low, factor * range.high, "scaled"});
  }

  std::vector<std::string> tensors_by_noise() const {
    std::vector<std::string> tensors;
    for (const auto& [noise, tensor] : noise_alone_) tensors.push_back(tensor);
    if (tensors.empty())
      for (const auto& [tensor, values] : subject_.values) tensors.push_back(tensor);
    return tensors;
  }

  CalibratedRange range_of(const std::string& tensor, RangeRule rule) const {
    const double steps = std::ldexp(1.0, precision().activation_bits) - 1;
    return subject_.confine(tensor, range_by(rule, subject_.values.at(tensor), steps));
  }

  bool try_range(const std::string& tensor, CalibratedRange range) {
    if (alike(range, result_.choices.ranges.at(tensor))) return false;
    QuantizationChoices tried = result_.choices;
    std::string name = fmt::format("range: {}", range.rule);
    tried.ranges[tensor] = std::move(range);
    return consider(std::move(name), tensor, std::move(tried));
  }

  void choose_ranges_by_tensor() {
    if (!has_activations() || precision().activation_bits != 8) return;
    const std::vector<std::string> tensors = tensors_by_noise();
    for (int round = 0; round < most_tuning_rounds; ++round) {
      bool gained = false;
      for (const std::string& tensor : tensors) {
        if (result_.choices.ranges.at(tensor).rule == "given") continue;
        gained = choose_range(tensor, round) || gained;
        if (!may_score()) return;
      }
      if (!gained) return;
    }
  }

  bool choose_range(const std::string& tensor, int round) {
    bool gained = false;
    if (round == 0)
      for (const RangeRule rule : range_rules)
        if (may_score()) gained = try_range(tensor, range_of(tensor, rule)) || gained;
    for (const double factor : {0.7, 0.85, 1.1}) {
      const CalibratedRange range = scaled(tensor, result_.choices.ranges.at(tensor), factor);
      if (may_score()) gained = try_range(tensor, range) || gained;
    }
    return gained;
  }

  const SearchSubject& subject_;
  SearchResult result_;
  OutputScore best_;
  std::vector<std::pair<double, std::string>> noise_alone_;        // noise by tensor, largest first
  std::shared_ptr<const std::vector<NodeMeans>> reference_means_;  // on the correction samples
};

}  // namespace

Decision decide(std::string choice, const OutputScore& before, const OutputScore& tried) {
  const Gain gained = gain(before, tried);
  const bool is_whole = tried.noise.samples() == before.noise.samples();
  return {.choice = std::move(choice),
          .sqnr_db = is_whole ? tried.sqnr_db() : before.sqnr_db() + gained.db,
          .gain = gained,
          .kept = is_whole && gained.proven()};
}

SearchResult search_choices(const SearchSubject& subject, QuantizationChoices choices,
                            std::optional<OutputScore> score) {
  return Search(subject, std::move(choices), std::move(score)).run();
}

}  // namespace vernier
