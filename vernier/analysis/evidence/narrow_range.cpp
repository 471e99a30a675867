#include "vernier/analysis/evidence/narrow_range.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "vernier/analysis/debug/switched_noise.h"
#include "vernier/model/index.h"
#include "vernier/model/quantization.h"
#include "vernier/model/simulated_quantizer.h"
#include "vernier/runtime/switchboard.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr std::array<double, 3> factors = {2, 4, 8};
// Octaves by which the tensors behind the input have to fit better, on average, with inputs twice
// as large. Measured: 0.63 to 1.37 if the input's range is a quarter of what it was, -0.43 and less
// in correct ones. Still larger inputs make a Clip's output fill its range in these, too.
constexpr double least_octaves = 0.25;
constexpr std::int64_t most_samples = 4;
constexpr std::int64_t most_trial_samples = 16;
// Overflow from which a range may be too narrow: on real inputs, and on synthetic ones.
constexpr double least_real_overflow = 1.2, least_drawn_overflow = 1.75;
// Used share below which a range may be too wide, on real and on synthetic inputs.
constexpr double most_real_use = 1.0 / 16, most_drawn_use = 1.0 / 20;
constexpr double clearly_good_db = 30;  // SQNR on real inputs from which no range is costly

// The float inputs that a quantizer reads directly.
std::set<std::string> quantized_inputs(const ModelIndex& candidate) {
  std::set<std::string> inputs, quantized;
  for (const TensorSpec& input : candidate.model().inputs())
    if (input.dtype == DType::f32) inputs.insert(input.name);
  for (const QuantizedActivation& activation : find_quantization(candidate).activations)
    if (!activation.dynamic && inputs.contains(activation.before))
      quantized.insert(activation.before);
  return quantized;
}

std::vector<UsedRange> use_of(CalibrationProbe& probe, Samples& samples,
                              const std::set<std::string>& inputs, double factor) {
  std::vector<QuantizerUse> uses(probe.quantizers());
  for (std::int64_t i = 0; i < std::min(samples.size(), most_samples); ++i) {
    std::vector<Tensor> sample = samples.sample(i);
    for (Tensor& input : sample)
      if (inputs.contains(input.name))
        for (float& value : elements<float>(input)) value *= static_cast<float>(factor);
    const CalibrationProbe::Sample run = probe.run(sample);
    for (std::size_t j = 0; j < uses.size(); ++j) uses[j] = pool(uses[j], run.uses[j]);
  }
  return probe.ranges(uses);
}

// Mean octaves by which ranges are filled better, of tensors that the inputs' size affects at all.
double octaves_gained(const std::vector<UsedRange>& before, const std::vector<UsedRange>& after,
                      const std::set<std::string>& inputs) {
  constexpr double least_effect = 0.5;  // octaves
  double gained = 0, counted = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (inputs.contains(before[i].name)) continue;
    const double from = std::log2(before[i].use.largest / before[i].representable);
    const double to = std::log2(after[i].use.largest / after[i].representable);
    if (!std::isfinite(from) || !(to - from >= least_effect)) continue;
    gained += std::abs(from) - std::abs(to);
    ++counted;
  }
  return counted == 0 ? 0 : gained / counted;
}

// The values that go into an activation quantizer, and the energy that its range cuts off.
struct CutOff {
  std::size_t index = 0;  // of the switch
  RealRange range;        // of the quantizer
  RealRange seen{0, 0, 0};
  double cut = 0;  // sum of squares of the excess beyond the range
  std::int64_t elements = 0;

  // How many times as wide the range has to be; 1 if only zeros were seen.
  double factor() const {
    const double above = range.high > 0 ? seen.high / range.high : 0;
    const double below = range.low < 0 ? seen.low / range.low : 0;
    const double needed = std::max(above, below);
    return needed > 0 ? needed : 1;
  }
  // The gain of a fitting range at the tensor itself: a wider one has larger steps, but cuts off
  // nothing.
  double gain_db() const {
    const double steps = range.step * range.step / 12 * static_cast<double>(elements);
    return 10 * std::log10((cut + steps) / (steps * factor() * factor()));
  }
  void add(double value) {
    seen.low = std::min(seen.low, value);
    seen.high = std::max(seen.high, value);
    const double beyond = value - std::clamp(value, range.low, range.high);
    if (beyond > 0 ? range.high > 0 : range.low < 0) cut += beyond * beyond;
    ++elements;
  }
};

// One for each integer activation quantizer, on the tensors with all quantizers off.
std::vector<CutOff> find_cut_off(const Switchboard& board, const SwitchedNoise& noise) {
  std::vector<CutOff> found;
  std::map<std::string, std::size_t, std::less<>> by_name;
  for (std::size_t i = 0; i < board.switches().size(); ++i) {
    const Switch& each = board.switches()[i];
    if (each.kind != Switch::Kind::activation || !each.in_file) continue;
    const auto range = representable_range(*each.in_file);
    if (!range || !is_integer(each.in_file->dtype)) continue;
    by_name.emplace(each.name, found.size());
    found.push_back({.index = i, .range = *range});
  }
  noise.observe(board.all(SwitchSetting::off()), [&](const ObservedTensor& tensor) {
    const auto at = by_name.find(tensor.name);
    if (at == by_name.end() || tensor.dtype != DType::f32) return;
    CutOff& cut_off = found[at->second];
    const auto& folded = board.switches()[cut_off.index].folded;
    for (double value : elements<float>(tensor)) {
      if (folded) value = std::clamp(value, folded->low, folded->high);
      if (std::isfinite(value)) cut_off.add(value);
    }
  });
  return found;
}

using CutOffs = std::vector<CutOff>;

// Ranges that may not fit, worst first, in groups that share a scale. At most `most_groups` groups.
std::vector<CutOffs> misfits(const Switchboard& board, CutOffs ranges, bool real_inputs) {
  constexpr std::size_t most_groups = 8;
  const double least_overflow = real_inputs ? least_real_overflow : least_drawn_overflow;
  const double most_use = real_inputs ? most_real_use : most_drawn_use;
  std::erase_if(ranges, [&](const CutOff& range) {
    return !(range.factor() > least_overflow) && !(range.factor() < most_use);
  });
  std::ranges::stable_sort(ranges, std::greater(), &CutOff::gain_db);
  std::vector<CutOffs> groups;
  const auto scale_of = [&](const CutOff& range) {
    return board.switches()[range.index].in_file->scale.name;
  };
  for (const CutOff& range : ranges) {
    const auto group = std::ranges::find_if(
        groups, [&](const CutOffs& each) { return scale_of(each[0]) == scale_of(range); });
    if (group != groups.end())
      group->push_back(range);
    else if (groups.size() < most_groups)
      groups.push_back({range});
  }
  return groups;
}

// The file's settings, except for these ranges. Biases stored in steps of a changed scale would be
// wrong, so integer biases are off (float) and weights are simulated.
SwitchSettings fitted(const Switchboard& board, std::span<const CutOff> ranges) {
  SwitchSettings settings = board.all(SwitchSetting::as_in_file());
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const Switch& each = board.switches()[i];
    if (each.kind != Switch::Kind::weight || !each.in_file) continue;
    if (each.in_file->dtype == DType::i32)
      settings[i] = SwitchSetting::off();
    else if (is_integer(each.in_file->dtype))
      settings[i] = SwitchSetting::simulate(simulated(*each.in_file));
  }
  for (const CutOff& range : ranges) {
    SimulatedQuantizer fitting = simulated(*board.switches()[range.index].in_file);
    for (float& scale : fitting.scale) scale *= static_cast<float>(range.factor());
    settings[range.index] = SwitchSetting::simulate(std::move(fitting));
  }
  return settings;
}

// The mean gain over the samples, as limits judge means: a single sample louder than all
// calibration data would dominate the total noise.
double mean_gain_db(const OutputNoise& before, const OutputNoise& after) {
  constexpr double least = 1e-20;
  double sum = 0;
  const auto count = static_cast<std::size_t>(before.samples());
  for (std::size_t i = 0; i < count; ++i)
    sum += 10 * std::log10((before.of_sample(i) + least) / (after.of_sample(i) + least));
  return sum / static_cast<double>(count);
}

std::vector<std::vector<Tensor>> taken(Samples& samples, std::int64_t most) {
  std::vector<std::vector<Tensor>> some;
  for (std::int64_t i = 0; i < std::min(samples.size(), most); ++i)
    some.push_back(samples.sample(i));
  return some;
}

// The input that gains most if it alone is as many times as large.
std::string narrowest(const std::set<std::string>& inputs, CalibrationProbe& probe,
                      Samples& samples, const std::vector<UsedRange>& as_drawn, double factor) {
  std::string found = *inputs.begin();
  double most = -INFINITY;
  for (const std::string& input : inputs) {
    if (inputs.size() == 1) break;
    const double gained = octaves_gained(as_drawn, use_of(probe, samples, {input}, factor), inputs);
    if (gained > most) most = gained, found = input;
  }
  return found;
}

}  // namespace

std::optional<NarrowRange> find_costly_range(SwitchedModel model, Samples& samples,
                                             const OrtOptions& runtime, bool real_inputs) {
  Switchboard board(std::move(model), in_exact_arithmetic(runtime));
  const SwitchedNoise noise(board, taken(samples, most_trial_samples), 1);
  const std::vector<CutOffs> groups = misfits(board, find_cut_off(board, noise), real_inputs);
  if (groups.empty()) return std::nullopt;
  const OutputNoise as_in_file = noise.measure(board.all(SwitchSetting::as_in_file()));
  if (real_inputs && noise_db(as_in_file.total()) >= clearly_good_db) return std::nullopt;
  const auto gain_of = [&](std::span<const CutOff> ranges) {
    const OutputNoise fitting = noise.measure(fitted(board, ranges));
    return real_inputs ? mean_gain_db(as_in_file, fitting)
                       : noise_db(fitting.total()) - noise_db(as_in_file.total());
  };
  const auto described = [&](const CutOff& worst, double gain_db) {
    return NarrowRange{.tensor = board.switches()[worst.index].name,
                       .overflow = worst.factor(),
                       .gain_db = gain_db,
                       .range = worst.range,
                       .seen = worst.seen};
  };
  std::optional<NarrowRange> found;
  CutOffs all;
  for (const CutOffs& group : groups) {
    const NarrowRange tried = described(group[0], gain_of(group));
    if (tried.gain_db > costly_db && (!found || tried.gain_db > found->gain_db)) found = tried;
    all.insert(all.end(), group.begin(), group.end());
  }
  if (found || !real_inputs) return found;
  const NarrowRange together = described(all[0], gain_of(all));
  return together.gain_db > costly_db ? std::optional(together) : std::nullopt;
}

std::optional<NarrowRange> find_narrow_input(const ModelIndex& reference,
                                             const ModelIndex& candidate, Samples& samples,
                                             const OrtOptions& runtime) {
  const std::set<std::string> inputs = quantized_inputs(candidate);
  if (inputs.empty()) return std::nullopt;
  CalibrationProbe probe(candidate, &reference, runtime, CalibrationProbe::Watched::reference);
  if (probe.quantizers() == 0) return std::nullopt;
  const std::vector<UsedRange> as_drawn = use_of(probe, samples, inputs, 1);
  std::optional<NarrowRange> found;
  double most = least_octaves;
  for (const double factor : factors) {
    const double gained = octaves_gained(as_drawn, use_of(probe, samples, inputs, factor), inputs);
    if (!(gained > most)) {
      if (!found) return std::nullopt;
      continue;
    }
    most = gained;
    found = NarrowRange{.overflow = factor};
  }
  if (found) found->tensor = narrowest(inputs, probe, samples, as_drawn, found->overflow);
  return found;
}

}  // namespace vernier
