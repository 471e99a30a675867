#include "vernier/analysis/quantize/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace vernier {
namespace {

constexpr int correction_rounds = 3;
constexpr std::int64_t most_correction_samples = 64;
constexpr std::int64_t ranking_samples = 8;
constexpr int most_tuning_rounds = 3;
// Of the samples that choices are scored on: how often all of them may be run.
constexpr std::int64_t normal_scorings = 24;

class Search {
 public:
  Search(const SearchSubject& subject, QuantizationChoices choices)
      : subject_(subject), result_{std::move(choices), {}} {
    best_ = score(result_.choices);
  }

  SearchResult run() {
    choose_per_channel();
    choose_range_rule();
    if (subject_.effort == Effort::fast) return std::move(result_);
    choose_weight_rule();
    correct_biases();
    choose_ranges_by_tensor();
    if (subject_.effort == Effort::tune) {
      try_all("symmetric activations",
              [](QuantizationChoices& choices) { choices.symmetric = true; });
      correct_biases();
    }
    return std::move(result_);
  }

 private:
  const QuantizedPrecision& precision() const { return result_.choices.precision; }
  bool has_activations() const { return !subject_.values.empty(); }

  OutputScore score(const QuantizationChoices& choices) {
    ++scorings_;
    return subject_.scorer.score(subject_.write(choices));
  }

  bool may_score() const {
    return subject_.go_on() && (subject_.effort == Effort::tune || scorings_ < normal_scorings);
  }

  // Takes the choices over where they gain more than the interval.
  bool consider(std::string choice, std::string subject, QuantizationChoices choices,
                OutputScore scored) {
    const Gain gained = gain(best_, scored);
    result_.decisions.push_back(
        {std::move(choice), std::move(subject), scored.sqnr_db(), gained, gained.proven()});
    if (!gained.proven()) return false;
    result_.choices = std::move(choices);
    best_ = std::move(scored);
    return true;
  }

  template <typename Change>
  void try_all(const std::string& name, Change change) {
    if (!may_score()) return;
    QuantizationChoices tried = result_.choices;
    change(tried);
    OutputScore scored = score(tried);
    consider(name, "", std::move(tried), std::move(scored));
  }

  void choose_range_rule() {
    if (!has_activations()) return;
    for (const RangeRule rule : range_rules)
      if (rule != RangeRule::minmax || tries_minmax())
        try_all(fmt::format("ranges: {}", range_rule_name(rule)),
                [&](QuantizationChoices& choices) {
                  for (const auto& [tensor, values] : subject_.values)
                    if (choices.ranges[tensor].rule != "given")
                      choices.ranges[tensor] = range_of(tensor, rule);
                });
  }

  // Somebody else's ranges are none of the rules'.
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
    if (std::ssize(runs.indices) > most_correction_samples)
      runs.indices.resize(most_correction_samples);
    return runs;
  }

  // A correction changes what reaches the layers behind it, so it is measured again.
  void correct_biases() {
    if (precision().dynamic || precision().weight_bits == 4 || !may_score()) return;
    const SampleRuns runs = correction_runs();
    if (reference_means_.empty())
      reference_means_ = channel_means(subject_.reference, subject_.nodes, runs);
    if (reference_means_.empty()) return;
    QuantizationChoices corrected = result_.choices;
    std::optional<std::pair<QuantizationChoices, OutputScore>> best;
    for (int round = 0; round < correction_rounds && may_score(); ++round) {
      const Model model = subject_.write(corrected);
      for (auto& [node, shift] :
           bias_shifts(reference_means_, channel_means(model, subject_.nodes, runs))) {
        std::vector<double>& total = corrected.shifts[node];
        total.resize(shift.size());
        for (std::size_t i = 0; i < shift.size(); ++i) total[i] += shift[i];
      }
      OutputScore scored = score(corrected);
      if (!best || gain(best->second, scored).db > 0) best = {corrected, std::move(scored)};
    }
    if (best) consider("bias correction", "", std::move(best->first), std::move(best->second));
  }

  // The error at the output with one tensor quantized and nothing else, worst first.
  std::vector<std::string> tensors_by_noise() {
    std::vector<std::pair<double, std::string>> noise;
    for (const auto& [tensor, values] : subject_.values) {
      if (!subject_.go_on()) break;
      double sqnr = 0;
      if (subject_.write_alone)
        sqnr = subject_.scorer
                   .score_first(subject_.write_alone(result_.choices, tensor), ranking_samples)
                   .sqnr_db();
      noise.emplace_back(sqnr, tensor);
    }
    std::ranges::sort(noise);
    std::vector<std::string> tensors;
    for (auto& [sqnr, tensor] : noise) tensors.push_back(std::move(tensor));
    return tensors;
  }

  CalibratedRange range_of(const std::string& tensor, RangeRule rule) const {
    const double steps = std::ldexp(1.0, precision().activation_bits) - 1;
    return subject_.confine(tensor, range_by(rule, subject_.values.at(tensor), steps));
  }

  bool try_range(const std::string& tensor, CalibratedRange range) {
    const CalibratedRange& current = result_.choices.ranges.at(tensor);
    const double width = current.high - current.low;
    if (std::fabs(range.low - current.low) + std::fabs(range.high - current.high) < 0.01 * width)
      return false;
    QuantizationChoices tried = result_.choices;
    std::string name = fmt::format("range: {}", range.rule);
    tried.ranges[tensor] = std::move(range);
    OutputScore scored = score(tried);
    return consider(std::move(name), tensor, std::move(tried), std::move(scored));
  }

  void choose_ranges_by_tensor() {
    if (!has_activations() || precision().activation_bits != 8) return;
    const int rounds = subject_.effort == Effort::tune ? most_tuning_rounds : 1;
    const std::vector<std::string> tensors = tensors_by_noise();
    for (int round = 0; round < rounds; ++round) {
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
    if (subject_.effort != Effort::tune) return gained;
    for (const double factor : {0.7, 0.85, 1.1}) {
      CalibratedRange range = result_.choices.ranges.at(tensor);
      range.low *= factor;
      range.high *= factor;
      range.rule = "scaled";
      range = subject_.confine(tensor, std::move(range));
      if (may_score()) gained = try_range(tensor, range) || gained;
    }
    return gained;
  }

  const SearchSubject& subject_;
  SearchResult result_;
  OutputScore best_;
  std::int64_t scorings_ = 0;
  ChannelMeans reference_means_;
};

}  // namespace

std::map<std::string, std::vector<double>> bias_shifts(const ChannelMeans& reference,
                                                       const ChannelMeans& candidate) {
  std::map<std::string, std::vector<double>> shifts;
  for (const auto& [node, means] : candidate) {
    const auto found = reference.find(node);
    if (found == reference.end() || found->second.size() != means.size()) continue;
    std::vector<double> shift(means.size());
    for (std::size_t i = 0; i < means.size(); ++i) shift[i] = found->second[i] - means[i];
    if (std::ranges::all_of(shift, [](double value) { return std::isfinite(value); }))
      shifts.emplace(node, std::move(shift));
  }
  return shifts;
}

SearchResult search_choices(const SearchSubject& subject, QuantizationChoices choices) {
  return Search(subject, std::move(choices)).run();
}

}  // namespace vernier
