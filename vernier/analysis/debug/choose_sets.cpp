#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "vernier/analysis/debug/switch_groups.h"

namespace vernier {
namespace {

// Errors with a cosine above this count as parallel.
constexpr double parallel_cosine = 0.9;
// Nodes with a smaller share of the noise belong to no chain.
constexpr double least_chain_share = 0.01;
// A set is extended by each of the first units of the ranking, this many.
constexpr std::size_t tried_at_each_step = 16;
// This many sets of each step and size are measured on all samples.
constexpr std::size_t finalists = 6;

double finite(double value) { return std::isfinite(value) ? value : 1e300; }

class SetChooser {
 public:
  SetChooser(const SwitchedGroups& model, const SwitchedNoise& screen, const SwitchedNoise& noise,
             const SwitchSettings& better)
      : model_(model), screen_(screen), noise_(noise), better_(better) {}

  std::vector<GroupSet> choose() {
    const std::size_t most = std::min(advised_sizes.back(), model_.groups.size());
    const GroupSet by_both =
        ranked(model_.groups.size(), [&](std::size_t i) { return removed(i); });
    consider_prefixes(ranked(model_.groups.size(),
                             [&](std::size_t i) { return finite(model_.signals.alone_on[i]); }),
                      most);
    consider_prefixes(ranked(model_.groups.size(), [&](std::size_t i) { return gained(i); }), most);
    consider_prefixes(by_both, most);
    consider_prefixes(in_units(by_both), most);
    measure_candidates();
    const std::vector<GroupSet> units = units_of(by_both);
    for (std::size_t size = 1; size <= most; ++size) grow(size, units);
    std::vector<GroupSet> sets;
    for (const auto& [size, best] : best_) sets.push_back(best.set);
    return sets;
  }

 private:
  struct Measured {
    GroupSet set;
    double score = 0;  // noise, or KL
  };

  // The noise that is removed if only this node is kept in float.
  double gained(std::size_t i) const {
    const double left = model_.signals.off_alone[i];
    return std::isnan(left) ? -INFINITY : finite(model_.signals.all_on) - finite(left);
  }
  double removed(std::size_t i) const {
    const double gain = gained(i);
    return finite(model_.signals.alone_on[i]) + (std::isfinite(gain) ? gain : 0);
  }

  // Groups in the order of the ranking; a chain is one unit, at the place of its first group.
  std::vector<GroupSet> units_of(const GroupSet& order) const {
    std::vector<GroupSet> units;
    std::vector<bool> taken(model_.groups.size());
    for (const std::size_t group : order) {
      if (taken[group]) continue;
      GroupSet unit = {group};
      for (const auto& chain : model_.signals.chains)
        if (std::ranges::count(chain, group) > 0) unit = chain;
      for (const std::size_t each : unit) taken[each] = true;
      units.push_back(std::move(unit));
    }
    return units;
  }

  GroupSet in_units(const GroupSet& order) const {
    GroupSet flat;
    for (const GroupSet& unit : units_of(order)) flat.insert(flat.end(), unit.begin(), unit.end());
    return flat;
  }

  void consider_prefixes(const GroupSet& order, std::size_t most) {
    for (std::size_t size = 1; size <= most; ++size)
      consider({order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size)});
  }

  void consider(GroupSet set) {
    std::ranges::sort(set);
    if (known_.insert(set).second) candidates_.push_back(std::move(set));
  }

  std::vector<Measured> measure(const SwitchedNoise& noise, std::span<const GroupSet> sets) const {
    std::vector<SwitchSettings> settings;
    for (const GroupSet& set : sets)
      settings.push_back(model_.with(model_.as_in_file, set, better_));
    const std::vector<OutputNoise> found = noise.measure_all(settings);
    std::vector<Measured> measured;
    for (std::size_t i = 0; i < sets.size(); ++i)
      measured.push_back({sets[i], finite(found[i].score())});
    return measured;
  }

  // Keeps the best set of each size: measures all sets on few samples, the best of these on all.
  void measure_candidates() {
    std::vector<Measured> measured = measure(screen_, candidates_);
    candidates_.clear();
    if (&screen_ != &noise_) {
      std::ranges::stable_sort(measured, {}, &Measured::score);
      std::map<std::size_t, std::size_t> taken;
      for (Measured& each : measured)
        if (taken[each.set.size()]++ < finalists) candidates_.push_back(std::move(each.set));
      measured = measure(noise_, candidates_);
      candidates_.clear();
    }
    for (Measured& each : measured) {
      const auto found = best_.find(each.set.size());
      if (found == best_.end() || each.score < found->second.score)
        best_[each.set.size()] = std::move(each);
    }
  }

  // Considers sets of this size: a best smaller set plus one unit, or two. Two, because some pairs
  // gain only together although their errors are not parallel.
  void grow(std::size_t size, const std::vector<GroupSet>& units) {
    const bool is_shown = std::ranges::count(advised_sizes, size) > 0;
    for (std::size_t smaller = size > 3 ? size - 3 : 0; smaller < size; ++smaller) {
      const GroupSet base = smaller == 0 ? GroupSet{} : best_.at(smaller).set;
      std::vector<GroupSet> added;  // the first units that are not in the base
      for (const GroupSet& unit : units) {
        if (added.size() == tried_at_each_step) break;
        GroupSet rest;
        for (const std::size_t group : unit)
          if (std::ranges::count(base, group) == 0) rest.push_back(group);
        if (!rest.empty()) added.push_back(std::move(rest));
      }
      const auto consider_with = [&](std::initializer_list<GroupSet> more) {
        GroupSet grown = base;
        for (const GroupSet& unit : more) grown.insert(grown.end(), unit.begin(), unit.end());
        if (grown.size() == size) consider(std::move(grown));
      };
      for (std::size_t i = 0; i < added.size(); ++i) {
        consider_with({added[i]});
        if (!is_shown || smaller + 2 != size) continue;
        for (std::size_t j = i + 1; j < added.size(); ++j) consider_with({added[i], added[j]});
      }
    }
    measure_candidates();
  }

  const SwitchedGroups& model_;
  const SwitchedNoise& screen_;
  const SwitchedNoise& noise_;
  const SwitchSettings& better_;
  std::set<GroupSet> known_;
  std::vector<GroupSet> candidates_;
  std::map<std::size_t, Measured> best_;  // by size
};

}  // namespace

std::vector<GroupSet> find_chains(const SwitchedGroups& model, const SwitchedNoise& noise) {
  const GroupSignals& signals = model.signals;
  GroupSet noisy;
  for (std::size_t i = 0; i < model.groups.size(); ++i)
    if (signals.alone_on[i] >= least_chain_share * signals.all_on &&
        std::isfinite(signals.alone_on[i]))
      noisy.push_back(i);
  std::vector<SwitchSettings> settings;
  for (const std::size_t group : noisy)
    settings.push_back(model.with(model.off, {group}, model.as_in_file));
  const std::vector<std::vector<float>> errors = noise.errors(settings);
  std::vector<std::size_t> root(noisy.size());
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](std::size_t i) {
    while (root[i] != i) i = root[i];
    return i;
  };
  for (std::size_t i = 0; i < noisy.size(); ++i)
    for (std::size_t j = i + 1; j < noisy.size(); ++j)
      if (cosine(errors[i], errors[j]) > parallel_cosine) root[find(j)] = find(i);
  std::vector<GroupSet> chains(noisy.size());
  for (std::size_t i = 0; i < noisy.size(); ++i) chains[find(i)].push_back(noisy[i]);
  std::erase_if(chains, [](const auto& chain) { return chain.size() < 2; });
  return chains;
}

std::vector<GroupSet> choose_sets(const SwitchedGroups& model, const SwitchedNoise& screen,
                                  const SwitchedNoise& noise, const SwitchSettings& better) {
  return SetChooser(model, screen, noise, better).choose();
}

}  // namespace vernier
