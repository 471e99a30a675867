#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/debug/sensitivity.h"
#include "vernier/analysis/debug/switched_noise.h"

namespace vernier {

// The switches of one node: of its weights and bias, and of what it computes. They are kept in
// float together.
struct SwitchGroup {
  std::string node;  // as the float model names it
  std::string op;
  std::vector<std::size_t> switches;
};

// In the order of the switches. `float_nodes` names nodes of the quantized model in the float one.
std::vector<SwitchGroup> group_by_node(std::span<const Switch> switches,
                                       const std::map<std::string, std::string>& float_nodes);

using GroupSet = std::vector<std::size_t>;  // indices of groups

// The settings with the groups set to something else.
SwitchSettings with(SwitchSettings settings, std::span<const SwitchGroup> groups,
                    const GroupSet& changed, const SwitchSetting& setting);

// The settings with the groups set as in others.
SwitchSettings with(SwitchSettings settings, std::span<const SwitchGroup> groups,
                    const GroupSet& changed, const SwitchSettings& others);

// What is better than the file's quantizers: weights of fewer than 8 bits have 8, with as many
// scales, all other quantizers are off. `noise` shows the float weights.
SwitchSettings better_settings(std::span<const Switch> switches, const SwitchedNoise& noise,
                               const SwitchSettings& as_in_file);

// The gain of a change, on the samples of the two measurements, with its interval.
MeasuredGain gain_of(const OutputNoise& before, const OutputNoise& after);

// What one node does by itself.
struct GroupSignals {
  std::vector<double> alone_on;   // score with only this group quantized
  std::vector<double> off_alone;  // score with all but this group quantized; NaN: not measured
  double all_on = 0;              // score as in the file
  std::vector<GroupSet> chains;   // groups whose errors are parallel
};

// Sets of groups whose errors at the output are parallel, one with the next.
std::vector<GroupSet> find_chains(const SwitchedNoise& noise, std::span<const SwitchGroup> groups,
                                  const SwitchSettings& off, const GroupSignals& signals);

// How many nodes the sets have that are advised.
constexpr std::array<std::size_t, 4> advised_sizes = {1, 3, 5, 8};

// Sets of 1 to 8 groups that leave the least noise, each chosen from several rankings and by
// growing the set before it, all measured with the set as in `better`. Many sets are tried on the
// samples of `screen`, the best of each size on those of `noise`, which may be the same.
std::vector<GroupSet> choose_sets(const SwitchedNoise& screen, const SwitchedNoise& noise,
                                  const SwitchSettings& as_in_file, const SwitchSettings& better,
                                  std::span<const SwitchGroup> groups, const GroupSignals& signals);

// Changes to single quantizers that leave less noise, proven on `held_out`.
std::vector<QuantizerRemedy> find_remedies(std::span<const Switch> switches,
                                           const SwitchedNoise& noise,
                                           const SwitchedNoise& held_out,
                                           const SwitchSettings& as_in_file,
                                           std::span<const SwitchGroup> groups,
                                           const GroupSignals& signals);

// Counts the samples whose answer changed, and finds of the first of them the fewest groups that
// bring it back.
void explain_flips(const SwitchedNoise& noise, const SwitchSettings& as_in_file,
                   std::span<const SwitchGroup> groups, Samples& samples, Sensitivity& result);

}  // namespace vernier
