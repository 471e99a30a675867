#include "vernier/analysis/debug/switch_groups.h"

#include <algorithm>
#include <cmath>

namespace vernier {

std::vector<SwitchGroup> group_by_node(std::span<const Switch> switches,
                                       const std::map<std::string, std::string>& float_nodes) {
  std::vector<SwitchGroup> groups;
  std::map<std::string, std::size_t> by_node;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    const Switch& each = switches[i];
    const std::string key = each.node.empty() ? "\n" + each.name : each.node;
    const auto [found, is_new] = by_node.emplace(key, groups.size());
    if (is_new) {
      const auto name = float_nodes.find(each.node);
      groups.push_back({each.node.empty()           ? each.name
                        : name == float_nodes.end() ? each.node
                                                    : name->second,
                        each.op,
                        {}});
    }
    groups[found->second].switches.push_back(i);
  }
  return groups;
}

SwitchSettings with(SwitchSettings settings, std::span<const SwitchGroup> groups,
                    const GroupSet& changed, const SwitchSetting& setting) {
  for (const std::size_t group : changed)
    for (const std::size_t index : groups[group].switches) settings[index] = setting;
  return settings;
}

MeasuredGain gain_of(const OutputNoise& before, const OutputNoise& after) {
  const auto gain = [&](std::span<const std::int64_t> samples) {
    double first = 0, second = 0;
    for (const std::int64_t sample : samples) {
      first += before.samples[static_cast<std::size_t>(sample)];
      second += after.samples[static_cast<std::size_t>(sample)];
    }
    return noise_db(second) - noise_db(first);
  };
  return {noise_db(before.total()), noise_db(after.total()),
          bootstrap_interval(std::ssize(before.samples), gain)};
}

}  // namespace vernier
