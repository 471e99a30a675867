#include "vernier/analysis/debug/switch_groups.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "vernier/tensor/convert.h"

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

SwitchSettings SwitchedGroups::with(SwitchSettings settings, const GroupSet& changed,
                                    const SwitchSettings& others) const {
  for (const std::size_t group : changed)
    for (const std::size_t index : groups[group].switches) settings[index] = others[index];
  return settings;
}

GroupSet ranked(std::size_t count, const std::function<double(std::size_t)>& score) {
  GroupSet order(count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(), score);
  return order;
}

namespace {

constexpr int more_bits = 8;

bool has_few_bits(const Switch& what) {
  return what.kind == Switch::Kind::weight && what.in_file && is_integer(what.in_file->dtype) &&
         bits(what.in_file->dtype) < more_bits;
}

// A symmetric 8-bit quantizer with as many scales as the file's quantizer.
SimulatedQuantizer in_more_bits(const TensorView& weight, const Quantizer& in_file) {
  SimulatedQuantizer quantizer = simulated(in_file);
  quantizer.zero_point.clear();
  quantizer.low = -128;
  quantizer.high = 127;
  std::ranges::fill(quantizer.scale, 0.0F);
  const ScaleIndex index(weight.shape, in_file);
  const std::vector<float> values = to_f32(weight);
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& most = quantizer.scale[static_cast<std::size_t>(index(static_cast<std::int64_t>(i)))];
    most = std::max(most, std::abs(values[i]));
  }
  for (float& scale : quantizer.scale)
    scale = scale > 0 ? scale / static_cast<float>(quantizer.high) : 1.0F;
  return quantizer;
}

}  // namespace

SwitchSettings better_settings(const SwitchedGroups& model, const SwitchedNoise& noise) {
  const std::span<const Switch> switches = model.switches;
  SwitchSettings better = model.off;
  std::map<std::string, std::size_t, std::less<>> wanted;
  for (std::size_t i = 0; i < switches.size(); ++i)
    if (has_few_bits(switches[i])) wanted.emplace(switches[i].name, i);
  if (wanted.empty()) return better;
  noise.observe_first(model.as_in_file, [&](const ObservedTensor& tensor) {
    const auto found = wanted.find(tensor.name);
    if (found == wanted.end()) return;
    better[found->second] =
        SwitchSetting::simulate(in_more_bits(tensor, *switches[found->second].in_file));
    wanted.erase(found);
  });
  return better;
}

MeasuredGain gain_of(const OutputNoise& before, const OutputNoise& after) {
  MeasuredGain gain{noise_db(before.total()), noise_db(after.total()),
                    gain_interval(before, after)};
  if (before.kl) gain.kl = {before.kl_mean(), after.kl_mean(), kl_change_interval(before, after)};
  gain.outputs = changes_of(before, after);
  return gain;
}

}  // namespace vernier
