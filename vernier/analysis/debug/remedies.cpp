#include <algorithm>
#include <map>

#include "vernier/analysis/debug/switch_groups.h"

namespace vernier {
namespace {

// Remedies are searched for at the noisiest nodes only.
constexpr std::size_t treated_groups = 8;
// Widths of a range, relative to the range in use.
constexpr double range_factors[] = {1.0 / 64, 1.0 / 16, 0.25, 0.5, 0.7, 0.85, 1.2, 1.5, 2, 4};
// A change with a smaller gain on the samples that it was chosen on is not judged on others.
constexpr double least_gain_db = 0.05;
// An output close to zero has an SQNR of 0 dB, which may be an improvement but is no remedy.
constexpr double least_output_db = 3;

// The values at a switch.
struct Observed {
  double low = 0, high = 0;         // including 0
  std::vector<RealRange> channels;  // of a weight
};

Observed observe(const TensorView& tensor, const Switch& what) {
  Observed observed;
  const auto values = elements<float>(tensor);
  for (const float value : values) {
    observed.low = std::min(observed.low, static_cast<double>(value));
    observed.high = std::max(observed.high, static_cast<double>(value));
  }
  const auto rank = std::ssize(tensor.shape);
  if (what.kind != Switch::Kind::weight || rank < 2) return observed;
  const std::int64_t axis = what.channel_axis < 0 ? what.channel_axis + rank : what.channel_axis;
  const std::int64_t inner = element_count(tensor.shape.subspan(axis + 1));
  const std::int64_t channels = tensor.shape[axis];
  observed.channels.resize(static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < values.size(); ++i) {
    RealRange& range =
        observed.channels[i / static_cast<std::size_t>(inner) % static_cast<std::size_t>(channels)];
    range.low = std::min(range.low, static_cast<double>(values[i]));
    range.high = std::max(range.high, static_cast<double>(values[i]));
  }
  return observed;
}

// A change to all switches that share a scale.
struct Change {
  std::vector<std::size_t> switches;
  QuantizerRemedy remedy;
  SwitchSetting setting;
};

bool is_simple(const Switch& what) {
  return what.in_file && is_integer(what.in_file->dtype) && bits(what.in_file->dtype) <= 16 &&
         granularity(*what.in_file) == Granularity::per_tensor &&
         what.in_file->scale.dtype == DType::f32;
}

// The switch and those of all tensors with the same scale and zero point in the file, as on both
// sides of a MaxPool. They can only be changed together.
std::vector<std::size_t> with_shared_scale(std::span<const Switch> switches, std::size_t index) {
  std::vector<std::size_t> shared = {index};
  const Quantizer& quantizer = *switches[index].in_file;
  const auto zero_name = [](const Quantizer& of) {
    return of.zero_point ? of.zero_point->name : std::string();
  };
  for (std::size_t i = 0; i < switches.size(); ++i)
    if (i != index && switches[i].kind == Switch::Kind::activation && is_simple(switches[i]) &&
        !quantizer.scale.name.empty() && switches[i].in_file->scale.name == quantizer.scale.name &&
        zero_name(*switches[i].in_file) == zero_name(quantizer))
      shared.push_back(i);
  return shared;
}

Change range_change(std::vector<std::size_t> shared, const Switch& what,
                    SimulatedQuantizer quantizer) {
  const double zero = quantizer.zero_point.empty() ? 0 : quantizer.zero_point[0];
  return {std::move(shared),
          {.kind = QuantizerRemedy::Kind::range,
           .tensor = what.name,
           .low = (quantizer.low - zero) * quantizer.scale[0],
           .high = (quantizer.high - zero) * quantizer.scale[0]},
          SwitchSetting::simulate(std::move(quantizer))};
}

void add_activation_changes(std::span<const Switch> switches,
                            const std::vector<std::size_t>& shared,
                            const std::map<std::size_t, Observed>& observed,
                            std::vector<Change>& changes) {
  const Switch& what = switches[shared.front()];
  const SimulatedQuantizer in_use = simulated(*what.in_file);
  for (const double factor : range_factors) {
    SimulatedQuantizer other = in_use;
    other.scale[0] = static_cast<float>(other.scale[0] * factor);
    changes.push_back(range_change(shared, what, std::move(other)));
  }
  const int width = bits(what.in_file->dtype);
  const StoredSteps steps{.bits = width, .is_signed = is_signed(what.in_file->dtype)};
  double low = 0, high = 0;
  for (const std::size_t index : shared)
    if (const auto seen = observed.find(index); seen != observed.end()) {
      low = std::min(low, seen->second.low);
      high = std::max(high, seen->second.high);
    }
  // A range wider than a folded Relu or Clip would undo it.
  for (const std::size_t index : shared)
    if (const auto& folded = switches[index].folded) {
      low = std::max(low, folded->low);
      high = std::min(high, folded->high);
    }
  if (high > low)
    changes.push_back(range_change(shared, what, quantizer_of_range(low, high, steps, false)));
  if (width > 8) return;
  const auto range = representable_range(*what.in_file);
  changes.push_back(
      {shared,
       {.kind = QuantizerRemedy::Kind::sixteen_bits, .tensor = what.name},
       SwitchSetting::simulate(quantizer_of_range(range->low, range->high, {.bits = 16}, false))});
}

void add_weight_changes(std::size_t index, const Switch& what, const Observed& observed,
                        std::vector<Change>& changes) {
  if (observed.channels.size() < 2 || bits(what.in_file->dtype) > 8) return;
  const StoredSteps steps{.bits = bits(what.in_file->dtype), .is_signed = true, .is_narrow = true};
  changes.push_back({{index},
                     {.kind = QuantizerRemedy::Kind::per_channel, .tensor = what.name},
                     SwitchSetting::simulate(
                         quantizer_of_ranges(observed.channels, what.channel_axis, steps, true))});
}

// For each scale and kind of change, the change with the least noise, if it gains.
std::vector<std::size_t> best_of_each(const std::vector<Change>& changes,
                                      const std::vector<OutputNoise>& noise, double before) {
  std::map<std::pair<std::size_t, QuantizerRemedy::Kind>, std::size_t> best;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto [found, is_new] =
        best.emplace(std::pair{changes[i].switches.front(), changes[i].remedy.kind}, i);
    if (!is_new && noise[i].score() < noise[found->second].score()) found->second = i;
  }
  std::vector<std::size_t> kept;
  for (const auto& [key, i] : best)
    if (noise_db(noise[i].score()) - noise_db(before) > least_gain_db) kept.push_back(i);
  return kept;
}

}  // namespace

std::string_view remedy_name(QuantizerRemedy::Kind kind) {
  switch (kind) {
    case QuantizerRemedy::Kind::range: return "range";
    case QuantizerRemedy::Kind::per_channel: return "per_channel";
    case QuantizerRemedy::Kind::sixteen_bits: return "sixteen_bits";
  }
  return "";
}

std::vector<QuantizerRemedy> find_remedies(const SwitchedGroups& model, const SwitchedNoise& noise,
                                           const SwitchedNoise& held_out) {
  const std::span<const Switch> switches = model.switches;
  const SwitchSettings& as_in_file = model.as_in_file;
  GroupSet order =
      ranked(model.groups.size(), [&](std::size_t i) { return model.signals.alone_on[i]; });
  order.resize(std::min(order.size(), treated_groups));

  struct Treated {
    std::vector<std::size_t> switches;
    std::size_t group = 0;
  };
  std::vector<Treated> treated;
  std::map<std::string, std::size_t, std::less<>> wanted;  // switch index, by name
  for (const std::size_t group : order)
    for (const std::size_t index : model.groups[group].switches) {
      if (!is_simple(switches[index]) || wanted.contains(switches[index].name)) continue;
      treated.push_back({{index}, group});
      if (switches[index].kind == Switch::Kind::activation)
        treated.back().switches = with_shared_scale(switches, index);
      for (const std::size_t each : treated.back().switches) wanted[switches[each].name] = each;
    }
  std::map<std::size_t, Observed> observed;
  noise.observe(as_in_file, [&](const ObservedTensor& tensor) {
    const auto found = wanted.find(tensor.name);
    if (found == wanted.end() || tensor.dtype != DType::f32) return;
    const std::size_t index = found->second;
    Observed seen = observe(tensor, switches[index]);
    const auto [entry, is_new] = observed.emplace(index, seen);
    entry->second.low = std::min(entry->second.low, seen.low);
    entry->second.high = std::max(entry->second.high, seen.high);
  });

  std::vector<Change> changes;
  for (const auto& [shared, group] : treated) {
    const std::size_t index = shared.front(), first = changes.size();
    if (switches[index].kind == Switch::Kind::activation)
      add_activation_changes(switches, shared, observed, changes);
    else
      add_weight_changes(index, switches[index], observed[index], changes);
    for (std::size_t i = first; i < changes.size(); ++i)
      changes[i].remedy.node = model.groups[group].node;
  }
  const auto settings_of = [&](const Change& change) {
    SwitchSettings settings = as_in_file;
    for (const std::size_t index : change.switches) settings[index] = change.setting;
    return settings;
  };
  std::vector<SwitchSettings> settings;
  for (const Change& change : changes) settings.push_back(settings_of(change));
  const std::vector<OutputNoise> measured = noise.measure_all(settings);
  const std::vector<std::size_t> promising = best_of_each(changes, measured, model.signals.all_on);

  settings = {as_in_file};
  for (const std::size_t i : promising) settings.push_back(settings_of(changes[i]));
  const std::vector<OutputNoise> judged = held_out.measure_all(settings);
  std::vector<QuantizerRemedy> remedies;
  for (std::size_t i = 0; i < promising.size(); ++i) {
    QuantizerRemedy remedy = changes[promising[i]].remedy;
    remedy.gain = gain_of(judged[0], judged[i + 1]);
    if (remedy.gain.is_proven() && remedy.gain.after_db >= least_output_db)
      remedies.push_back(std::move(remedy));
  }
  std::ranges::stable_sort(remedies, std::greater(),
                           [](const QuantizerRemedy& remedy) { return remedy.gain.after_db; });
  return remedies;
}

}  // namespace vernier
