#pragma once

#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/debug/sensitivity.h"
#include "vernier/analysis/debug/switched_noise.h"

namespace vernier {

// The switches of a node: of its weights, bias and output. They are kept in float together.
struct SwitchGroup {
  std::string node;  // as the float model names it
  std::string op;
  std::vector<std::size_t> switches;
};

// Groups in the order of the switches. `float_nodes` maps node names to the float model's.
std::vector<SwitchGroup> group_by_node(std::span<const Switch> switches,
                                       const std::map<std::string, std::string>& float_nodes);

using GroupSet = std::vector<std::size_t>;  // indices of groups

// The effect of each group by itself.
struct GroupSignals {
  std::vector<double> alone_on;   // score with only this group quantized
  std::vector<double> off_alone;  // score with only this group in float; NaN if not measured
  double all_on = 0;              // score as in the file
  std::vector<GroupSet> chains;   // groups whose errors are parallel
};

// What the search for advice works on: the switches of a model, in groups.
struct SwitchedGroups {
  std::span<const Switch> switches;
  std::vector<SwitchGroup> groups;
  SwitchSettings as_in_file, off;  // of all switches
  GroupSignals signals = {};

  // The settings with the switches of the changed groups set as in `others`.
  SwitchSettings with(SwitchSettings settings, const GroupSet& changed,
                      const SwitchSettings& others) const;
};

// The indices of all groups, sorted by falling score.
GroupSet ranked(std::size_t count, const std::function<double(std::size_t)>& score);

// Settings that improve on the file: weights of fewer than 8 bits are simulated with 8 bits and as
// many scales; all other quantizers are off. `noise` provides the float weights.
SwitchSettings better_settings(const SwitchedGroups& model, const SwitchedNoise& noise);

// The gain of a change, with its interval, over the samples of both measurements.
MeasuredGain gain_of(const OutputNoise& before, const OutputNoise& after);

// Sets of groups whose errors at the output are parallel, at least to one other of the set.
std::vector<GroupSet> find_chains(const SwitchedGroups& model, const SwitchedNoise& noise);

// The sizes of the sets that are reported.
constexpr std::array<std::size_t, 4> advised_sizes = {1, 3, 5, 8};

// The sets of 1 to 8 groups with the least noise if their switches are set as in `better`: prefixes
// of several rankings, and extensions of smaller sets. All sets are measured on the samples of
// `screen`, the best of each size on those of `noise`, which may be the same.
std::vector<GroupSet> choose_sets(const SwitchedGroups& model, const SwitchedNoise& screen,
                                  const SwitchedNoise& noise, const SwitchSettings& better);

// Changes to single quantizers that reduce the noise, proven on `held_out`.
std::vector<QuantizerRemedy> find_remedies(const SwitchedGroups& model, const SwitchedNoise& noise,
                                           const SwitchedNoise& held_out);

// Counts the samples whose answer changed. For the first of them, finds the fewest groups that
// restore the answer.
void explain_flips(const SwitchedGroups& model, const SwitchedNoise& noise, Samples& samples,
                   Sensitivity& result);

}  // namespace vernier
