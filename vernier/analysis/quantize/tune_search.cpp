#include "vernier/analysis/quantize/tune_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "vernier/error.h"
#include "vernier/metrics/non_finite.h"

namespace vernier {
namespace {

constexpr std::int64_t ranking_samples = 8;
constexpr double parallel_cosine = 0.9;
// If held-back samples miss the target, the search is repeated this often, each time for the
// shortfall and this margin more.
constexpr int most_attempts = 6;
constexpr double margin_db = 0.1;
constexpr double kl_margin = 0.98;

struct TargetValue {
  double value = nan;   // of the target's metric; with several outputs, that of the worst
  double surely = nan;  // the worse end of the interval, or the value if there is none
  ConfidenceInterval interval = {nan, nan};
  std::vector<OutputFigure> outputs = {};
};

TargetValue sqnr_of(const OutputScore& score) {
  std::vector<OutputFigure> figures = figures_of(score.noise);
  if (figures.empty()) return {};
  const OutputFigure worst = worst_of(figures);
  double surely = worst.surely();
  for (const OutputFigure& figure : figures) surely = std::min(surely, figure.surely());
  return {worst.sqnr_db, surely, worst.interval, std::move(figures)};
}

TargetValue kl_of(const OutputScore& score) {
  const ConfidenceInterval interval = kl_interval(score.noise);
  const double value = score.kl_mean();
  return {value, std::isnan(interval.high) ? value : interval.high, interval};
}

TargetValue value_of(const OutputScore& score, const OutputScorer& scorer,
                     const std::string& metric) {
  if (metric == "sqnr_db") return sqnr_of(score);
  if (metric == "kl_mean") return kl_of(score);
  double value = nan;
  if (metric == "agreement")
    value = score.agreement.value_or(nan);
  else if (score.accuracy && scorer.reference_accuracy())
    value = *scorer.reference_accuracy() - *score.accuracy;
  return {value, value};
}

bool is_reached(const Limit& target, double value) {
  return !std::isnan(value) && !within(target, value);
}

// A target fails by the value, or, where the value reaches it, by the worse end of the interval. It
// holds for every output.
Verdict verdict_of_target(const Limit& target, const TargetValue& measured) {
  const auto decisive = [&](double value, double surely) {
    return is_reached(target, value) ? surely : value;
  };
  std::vector<Judged> subjects;
  for (const OutputFigure& output : measured.outputs)
    subjects.push_back({.name = output.name,
                        .group = "output",
                        .metrics = {{target.metric, decisive(output.sqnr_db, output.surely())}}});
  if (subjects.empty())
    subjects.push_back({.metrics = {{target.metric, decisive(measured.value, measured.surely)}}});
  Limit limit = opposite(target);
  limit.tensor.clear();
  return make_verdict({limit}, judge({&limit, 1}, subjects));
}

class TuneSearch {
 public:
  TuneSearch(const TunedModel& model, const Limit& target)
      : model_(model), target_(target), wanted_(target) {}

  TuneResult run() {
    result_.base_value = evaluate(0);
    require_measured();
    if (!is_reached(wanted_, result_.base_value)) rank();
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
      if (!is_reached(wanted_, evaluate_kept()) && !choose()) break;
      const double surely = held_back_value().surely;
      if (is_reached(target_, surely) || !ask_for_more(surely)) break;
      if (result_.groups.empty()) rank();
    }
    return finish();
  }

 private:
  TargetValue held_back_value() const {
    return value_of(model_.held_back.score(model_.write(kept_nodes())), model_.held_back,
                    target_.metric);
  }

  // The choosing samples reach the target but the held-back samples do not: raises the target for
  // the choosing samples by the difference. Only for SQNR and KL, which have no upper bound.
  bool ask_for_more(double surely) {
    if (!model_.go_on()) return false;
    if (target_.metric == "kl_mean") {
      wanted_.value = evaluate_kept() * target_.value / surely * kl_margin;
      return wanted_.value > 0;
    }
    if (target_.metric != "sqnr_db") return false;
    wanted_.value = evaluate_kept() + target_.value - surely + margin_db;
    return std::isfinite(wanted_.value);
  }

  void require_measured() const {
    if (!std::isnan(result_.base_value)) return;
    throw Error(fmt::format("[tune] --target {}: could not be measured; {}", target_.metric,
                            target_.metric == "top1_accuracy_drop"
                                ? "give a labelled --dataset and a model that returns class scores"
                            : target_.metric == "kl_mean"
                                ? "the model is no decoder, whose next token could be compared"
                                : "the output is no table of class scores, or not finite"));
  }

  std::vector<std::string> kept_nodes() const {
    std::vector<std::string> names;
    for (const SensitiveGroup& group : result_.groups)
      if (group.kept) names.insert(names.end(), group.nodes.begin(), group.nodes.end());
    return names;
  }

  // Keeps the first groups.
  double evaluate(std::size_t groups) {
    for (std::size_t i = 0; i < result_.groups.size(); ++i) result_.groups[i].kept = i < groups;
    return evaluate_kept();
  }

  double evaluate_kept() {
    const std::vector<std::string> kept = kept_nodes();
    const double value =
        value_of(model_.choosing.score(model_.write(kept)), model_.choosing, target_.metric).surely;
    result_.curve.push_back({std::ssize(kept), value});
    return value;
  }

  // The errors with every node kept, for instance by differently folded biases. They belong to no
  // node and are subtracted.
  std::vector<float> errors_of_none() const {
    std::vector<std::string> all;
    for (const TunedModel::Node& node : model_.nodes) all.push_back(node.name);
    return model_.choosing.errors(model_.write(all), ranking_samples);
  }

  // Measures the noise of each node alone and groups nodes whose errors are parallel.
  void rank() {
    std::vector<std::vector<float>> errors;
    std::vector<double> noise;
    const std::vector<float> none = errors_of_none();
    for (std::size_t i = 0; i < model_.nodes.size() && model_.go_on(); ++i) {
      const Model alone = model_.write_alone(i);
      errors.push_back(model_.choosing.errors(alone, ranking_samples));
      for (std::size_t j = 0; j < std::min(none.size(), errors.back().size()); ++j)
        errors.back()[j] -= none[j];
      double sum = 0;
      if (target_.metric == "kl_mean")
        sum = model_.choosing.score_first(alone, ranking_samples).kl_mean();
      else
        for (const float error : errors.back()) sum += double(error) * error;
      noise.push_back(sum);
    }
    group(errors, noise);
  }

  void group(const std::vector<std::vector<float>>& errors, const std::vector<double>& noise) {
    double total = 0;
    for (const double each : noise) total += each;
    std::vector<bool> taken(noise.size());
    for (std::size_t i = 0; i < noise.size(); ++i) {
      if (taken[i]) continue;
      SensitiveGroup group{.nodes = {model_.nodes[i].name},
                           .noise_share = total > 0 ? noise[i] / total : 0,
                           .cost = model_.nodes[i].cost};
      for (std::size_t j = i + 1; j < noise.size(); ++j)
        if (!taken[j] && cosine(errors[i], errors[j]) > parallel_cosine) {
          taken[j] = true;
          group.nodes.push_back(model_.nodes[j].name);
          group.noise_share += total > 0 ? noise[j] / total : 0;
          group.cost += model_.nodes[j].cost;
        }
      result_.groups.push_back(std::move(group));
    }
    std::ranges::stable_sort(result_.groups, std::greater{}, [](const SensitiveGroup& each) {
      return each.noise_share / std::max(each.cost, 1.0);
    });
  }

  // Keeps the shortest prefix that reaches the target, without the groups that it does not need;
  // false if all groups together do not reach it.
  bool choose() {
    std::size_t low = 0, high = result_.groups.size();
    if (!is_reached(wanted_, evaluate(high))) return false;
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      (is_reached(wanted_, evaluate(middle)) ? high : low) = middle;
      if (!model_.go_on()) break;
    }
    for (std::size_t i = 0; i < result_.groups.size(); ++i) result_.groups[i].kept = i < high;
    for (std::size_t i = high; i-- > 0 && model_.go_on();) {
      result_.groups[i].kept = false;
      if (!is_reached(wanted_, evaluate_kept())) result_.groups[i].kept = true;
    }
    return true;
  }

  TuneResult finish() {
    result_.kept = kept_nodes();
    const auto key = [](const CurvePoint& point) {
      return std::pair(point.kept_nodes, point.value);
    };
    std::ranges::sort(result_.curve, {}, key);
    const auto repeated = std::ranges::unique(result_.curve, {}, key);
    result_.curve.erase(repeated.begin(), repeated.end());
    TargetValue held_back = held_back_value();
    result_.verdict = verdict_of_target(target_, held_back);
    result_.reached = result_.verdict.pass();
    result_.value = held_back.value;
    result_.interval = held_back.interval;
    result_.outputs = std::move(held_back.outputs);
    result_.held_back_samples = model_.held_back.samples();
    result_.uncertain = !result_.reached && is_reached(target_, held_back.value);
    if (result_.uncertain) result_.samples_to_decide = samples_to_decide();
    return std::move(result_);
  }

  // How many samples to provide for a decision; nullopt if more than can be held back.
  std::optional<double> samples_to_decide() const {
    double most = 0;
    const auto add = [&](double value, const ConfidenceInterval& interval) {
      most = std::max(most,
                      deciding_samples(result_.held_back_samples, value, interval, target_.value));
    };
    if (result_.outputs.empty()) add(result_.value, result_.interval);
    for (const OutputFigure& output : result_.outputs)
      if (!is_reached(target_, output.surely())) add(output.sqnr_db, output.interval);
    return most <= most_held_back ? std::optional(most * samples_for_one_held_back) : std::nullopt;
  }

  const TunedModel& model_;
  const Limit& target_;
  Limit wanted_;  // for the choosing samples
  TuneResult result_;
};

}  // namespace

TuneResult search_kept(const TunedModel& model, const Limit& target) {
  return TuneSearch(model, target).run();
}

double tune_cost(TuneCost cost, double weights, std::int64_t channels, const Shape* output) {
  if (cost == TuneCost::nodes) return 1;
  if (cost == TuneCost::bytes || channels == 0) return std::max(weights, 1.0);
  double values = 1;
  if (output)
    for (const std::int64_t dim : *output)
      values *= static_cast<double>(std::max<std::int64_t>(dim, 1));
  return std::max(1.0, values * weights / static_cast<double>(channels));
}

}  // namespace vernier
