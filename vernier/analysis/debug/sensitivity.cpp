#include "vernier/analysis/debug/sensitivity.h"

#include <algorithm>
#include <cmath>

#include "vernier/analysis/debug/switch_groups.h"
#include "vernier/error.h"
#include "vernier/metrics/jackknife.h"

namespace vernier {
namespace {

// Beyond this many passes, gain_db is measured for the noisiest nodes only.
constexpr std::int64_t many_passes = 8192;
constexpr std::size_t noisiest_nodes = 32;
// A larger set is reported if it gains this much more than the set before.
constexpr double worthwhile_db = 0.1;
// For KL: a larger set is reported if it leaves at most this share of the KL of the set before.
constexpr double worthwhile_share = 0.98;
// Nodes are ranked and sets are searched for on at most this many samples: more hardly change the
// ranking (split-half Spearman 0.9 and above). The best sets are measured on all samples.
constexpr std::int64_t ranking_samples = 128;

std::vector<std::vector<Tensor>> read(Samples& samples, std::int64_t first, std::int64_t count) {
  std::vector<std::vector<Tensor>> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(samples.sample(first + i));
  return result;
}

class Pass {
 public:
  Pass(SwitchedModel model, Samples& samples, const SensitivityOptions& options)
      : options_(options), samples_(samples) {
    result_.unswitched = std::move(model.unswitched);
    if (model.switches.empty())
      throw Error("[debug] no quantizer can be switched off: none has a known float counterpart");
    OrtOptions runtime = options.runtime;
    runtime.exact = true;
    runtime.optimization = std::nullopt;
    runtime.watch = Watch::none();
    runtime.threads = 1;  // each thread runs its own settings
    board_.emplace(std::move(model), runtime);
    model_ = {.switches = board_->switches(),
              .groups = group_by_node(board_->switches(), options.float_nodes),
              .as_in_file = board_->all(SwitchSetting::as_in_file()),
              .off = board_->all(SwitchSetting::off())};
  }

  Sensitivity run() {
    const std::int64_t all = samples_.size();
    const bool apart = options_.held_out && options_.held_out->size() > 0;
    result_.samples = std::clamp<std::int64_t>(apart ? all : all / 2, 1, options_.samples);
    const int threads = options_.runtime.threads;
    result_.ranked = std::min(result_.samples, ranking_samples);
    const SwitchedNoise noise(*board_, read(samples_, 0, result_.ranked), threads, options_.logits);
    measure_signals(noise);
    if (result_.interrupted) return std::move(result_);
    model_.signals.chains = find_chains(model_, noise);
    add_nodes();
    std::optional<SwitchedNoise> all_noise;
    if (result_.ranked < result_.samples)
      all_noise.emplace(*board_, read(samples_, 0, result_.samples), threads, options_.logits);
    const SwitchedNoise& all_samples = all_noise ? *all_noise : noise;
    if (options_.explain_flips) explain_flips(model_, all_samples, samples_, result_);

    Samples& others = apart ? *options_.held_out : samples_;
    const std::int64_t first = apart ? 0 : result_.samples;
    result_.held_out = std::min(others.size() - first, options_.samples);
    if (result_.held_out < fewest_for_interval || !(model_.signals.all_on > 0)) {
      result_.held_out = 0;
      return std::move(result_);
    }
    const SwitchedNoise judge(*board_, read(others, first, result_.held_out), threads,
                              options_.logits);
    add_sets(noise, all_samples, judge);
    result_.remedies = find_remedies(model_, noise, judge);
    return std::move(result_);
  }

 private:
  GroupSet noisiest_first() const {
    return ranked(model_.groups.size(), [&](std::size_t i) { return model_.signals.alone_on[i]; });
  }

  void measure_signals(const SwitchedNoise& noise) {
    const auto count = static_cast<std::int64_t>(model_.groups.size());
    std::int64_t finished = 0;
    const auto total = 2 * count;
    const auto done = [&](std::size_t now) {
      if (!options_.progress) return true;
      result_.interrupted = !options_.progress(finished + static_cast<std::int64_t>(now), total);
      return !result_.interrupted;
    };
    const OutputNoise as_in_file = noise.measure(model_.as_in_file);
    model_.signals.all_on = as_in_file.score();
    result_.output_db = noise_db(as_in_file.total());
    if (as_in_file.outputs.size() > 1) result_.outputs = figures_of(as_in_file);
    if (as_in_file.kl) result_.kl = as_in_file.kl_mean();
    std::vector<SwitchSettings> settings;
    for (std::size_t i = 0; i < model_.groups.size(); ++i)
      settings.push_back(model_.with(model_.off, {i}, model_.as_in_file));
    for (const OutputNoise& each : noise.measure_all(settings, done))
      model_.signals.alone_on.push_back(each.score());
    finished = count;
    model_.signals.off_alone.assign(model_.groups.size(), NAN);
    if (result_.interrupted) return;
    GroupSet wanted = noisiest_first();
    if (2 * count * noise.size() > many_passes && wanted.size() > noisiest_nodes)
      wanted.resize(noisiest_nodes);
    settings.clear();
    for (const std::size_t i : wanted)
      settings.push_back(model_.with(model_.as_in_file, {i}, model_.off));
    const std::vector<OutputNoise> measured = noise.measure_all(settings, done);
    gain_db_.assign(model_.groups.size(), NAN);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      model_.signals.off_alone[wanted[i]] = measured[i].score();
      gain_db_[wanted[i]] = noise_db(measured[i].total()) - result_.output_db;
    }
  }

  void add_nodes() {
    for (const std::size_t i : noisiest_first()) {
      NodeSensitivity row{.node = model_.groups[i].node,
                          .op = model_.groups[i].op,
                          .noise_share = model_.signals.all_on > 0
                                             ? model_.signals.alone_on[i] / model_.signals.all_on
                                             : 0};
      const bool measured = !std::isnan(model_.signals.off_alone[i]);
      if (measured) row.gain_db = gain_db_[i];
      if (result_.kl) row.kl_alone = model_.signals.alone_on[i];
      if (result_.kl && measured) row.kl_without = model_.signals.off_alone[i];
      for (std::size_t c = 0; c < model_.signals.chains.size(); ++c)
        if (std::ranges::count(model_.signals.chains[c], i) > 0) row.chain = c + 1;
      result_.nodes.push_back(std::move(row));
    }
  }

  static bool is_worthwhile(const MeasuredGain& shown, const MeasuredGain& more) {
    return more.kl ? more.kl->after < worthwhile_share * shown.kl->after
                   : more.after_db > shown.after_db + worthwhile_db;
  }

  // Adds sets whose gain is proven on samples that they were not chosen on.
  void add_sets(const SwitchedNoise& noise, const SwitchedNoise& all_samples,
                const SwitchedNoise& judge) {
    const SwitchSettings better = better_settings(model_, noise);
    if (better != model_.off) result_.kept_bits = 8;
    const std::vector<GroupSet> sets = choose_sets(model_, noise, all_samples, better);
    std::vector<SwitchSettings> settings = {model_.as_in_file};
    for (const GroupSet& set : sets)
      settings.push_back(model_.with(model_.as_in_file, set, better));
    const std::vector<OutputNoise> judged = judge.measure_all(settings);
    MeasuredGain shown = gain_of(judged[0], judged[0]);
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (std::ranges::count(advised_sizes, sets[i].size()) == 0) continue;
      FloatSet set{.nodes = {}, .gain = gain_of(judged[0], judged[i + 1])};
      if (!set.gain.is_proven() || !is_worthwhile(shown, set.gain)) continue;
      shown = set.gain;
      GroupSet order = sets[i];
      std::ranges::stable_sort(order, std::greater(),
                               [&](std::size_t group) { return model_.signals.alone_on[group]; });
      for (const std::size_t group : order) set.nodes.push_back(model_.groups[group].node);
      result_.keep_in_float.push_back(std::move(set));
    }
  }

  const SensitivityOptions& options_;
  Samples& samples_;
  std::optional<Switchboard> board_;
  SwitchedGroups model_;
  std::vector<double> gain_db_;  // with only this group in float; NaN if not measured
  Sensitivity result_;
};

}  // namespace

const FloatSet* set_to_keep(const Sensitivity& sensitivity) {
  constexpr double most_of_it = 0.9;
  const std::vector<FloatSet>& sets = sensitivity.keep_in_float;
  if (sets.empty()) return nullptr;
  const auto gain = [](const FloatSet& set) { return set.gain.after_db - set.gain.before_db; };
  const auto three =
      std::ranges::find_if(sets, [](const FloatSet& set) { return set.nodes.size() >= 3; });
  const FloatSet& chosen = three == sets.end() ? sets.back() : *three;
  return gain(sets.front()) >= most_of_it * gain(chosen) ? &sets.front() : &chosen;
}

Sensitivity measure_sensitivity(SwitchedModel model, Samples& samples,
                                const SensitivityOptions& options) {
  return Pass(std::move(model), samples, options).run();
}

}  // namespace vernier
