#include "vernier/analysis/evidence/calibration_fit.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "vernier/analysis/decoding/fed_decoder.h"
#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/analysis/pairing/counterpart.h"
#include "vernier/analysis/parts/content_hash.h"
#include "vernier/metrics/value_range.h"
#include "vernier/model/graph.h"
#include "vernier/model/index.h"
#include "vernier/model/quantization.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr double most_octaves = 10;  // upper limit; counted for a quantizer that sees only zeros

// An activation quantizer, and the sides of zero on which its range counts.
struct WatchedQuantizer {
  std::string name;     // of the tensor, as users know it
  std::string watched;  // the observed tensor: the quantizer's input, or the stored codes
  bool stored = false;
  bool of_reference = false;  // the counterpart of the input is observed, in the reference
  bool bounded = false;
  bool zeros_alone = false;
  bool is_input = false;  // of the candidate
  Quantizer quantizer;
  RealRange range;
  bool low_counts = true, high_counts = true;
  double largest() const {
    return std::max(low_counts ? -range.low : 0, high_counts ? range.high : 0);
  }
};

// Whether a sample of one model can be fed to the other by name.
bool same_input_names(const Model& reference, const Model& candidate) {
  const auto input_names = [](const Model& model) {
    std::set<std::string> names;
    for (const TensorSpec& input : model.inputs()) names.insert(input.name);
    return names;
  };
  return input_names(reference) == input_names(candidate);
}

// Whether an operator bounds the tensor: then its use of the range says little of the inputs.
bool bounds_its_values(const ModelIndex& model, const std::string& tensor) {
  const FoundTensor* found = model.tensor(tensor);
  return found &&
         is_one_of(*found->node, {"Clip", "HardSigmoid", "HardSwish", "Softmax", "QLinearSoftmax",
                                  "Sigmoid", "Tanh", "QLinearSigmoid", "Erf"});
}

// Calibration on zeros only writes a scale of 1 and a zero point of 0.
bool saw_zeros_alone(const Quantizer& quantizer) {
  const double zero_point = quantizer.zero_point ? to_f64(*quantizer.zero_point)[0] : 0;
  return to_f64(quantizer.scale)[0] == 1 && zero_point == 0;
}

std::optional<WatchedQuantizer> watch(const QuantizedActivation& activation) {
  const auto range = representable_range(activation.quantizer);
  if (!range || !is_integer(activation.quantizer.dtype)) return std::nullopt;
  WatchedQuantizer watched{.name = activation.name,
                           .watched = activation.before,
                           .stored = activation.before.empty(),
                           .zeros_alone = saw_zeros_alone(activation.quantizer),
                           .is_input = activation.writer_op.empty(),
                           .quantizer = activation.quantizer,
                           .range = *range};
  if (watched.stored) watched.watched = activation.stored;
  watched.low_counts = range->low < 0;
  watched.high_counts = range->high > 0;
  if (watched.watched.empty() || !(watched.largest() > 0)) return std::nullopt;
  return watched;
}

// Watches the counterpart of the quantizer's input, in the reference; false if there is none.
bool watch_counterpart(WatchedQuantizer& watched, const QuantizedActivation& activation,
                       const ModelIndex& reference, const ModelIndex& candidate) {
  const Counterpart counterpart =
      fold_clip(reference, candidate, activation, find_counterpart(reference, activation))
          .counterpart;
  if (!reference.tensor(counterpart.tensor)) return false;
  watched.watched = counterpart.tensor;
  watched.stored = false;
  watched.of_reference = true;
  return true;
}

std::vector<WatchedQuantizer> find_quantizers(const ModelIndex& candidate,
                                              const ModelIndex* reference,
                                              CalibrationProbe::Watched side) {
  const bool is_fed = reference && same_input_names(reference->model(), candidate.model());
  std::vector<WatchedQuantizer> found;
  for (const QuantizedActivation& activation : find_quantization(candidate).activations) {
    const auto bounded = [&](const std::string& name) {
      return bounds_its_values(candidate, name) ||
             (reference && bounds_its_values(*reference, name));
    };
    auto watched = activation.dynamic ? std::nullopt : watch(activation);
    if (!watched) continue;
    watched->bounded =
        bounded(activation.name) || bounded(activation.before) || bounded(activation.stored);
    const bool in_reference = side == CalibrationProbe::Watched::reference || watched->bounded;
    const bool is_counterpart = (watched->stored || in_reference) && is_fed &&
                                watch_counterpart(*watched, activation, *reference, candidate);
    if (!in_reference || is_counterpart) found.push_back(*std::move(watched));
  }
  return found;
}

// The use of a range by the values. Stored codes count as clipped at the ends of the range; real
// values if they exceed it by more than 1/64, which a saturating Tanh or Erf does not.
QuantizerUse use_of(std::span<const float> values, const WatchedQuantizer& quantizer) {
  const double half = quantizer.range.step / 2;
  const double margin = quantizer.stored ? -half : std::max(half, quantizer.largest() / 64);
  const double low = quantizer.range.low - margin, high = quantizer.range.high + margin;
  QuantizerUse use{.elements = static_cast<std::int64_t>(values.size())};
  const ValueRange seen = value_range(values);  // most tensors need no count: they are within it
  if (quantizer.high_counts) {
    use.largest = std::fmax(use.largest, seen.high);
    if (seen.high > high)
      use.clipped += std::ranges::count_if(values, [=](float value) { return value > high; });
  }
  if (quantizer.low_counts) {
    use.largest = std::fmax(use.largest, -seen.low);
    if (seen.low < low)
      use.clipped += std::ranges::count_if(values, [=](float value) { return value < low; });
  }
  return use;
}

double clipped_share(const QuantizerUse& use) {
  return use.elements == 0 ? 0
                           : static_cast<double>(use.clipped) / static_cast<double>(use.elements);
}

// The lower end of the Wilson interval at 95 %.
double surely_clipped(const QuantizerUse& use) {
  if (use.elements == 0) return 0;
  constexpr double z = 1.96;
  const auto n = static_cast<double>(use.elements);
  const double share = clipped_share(use), spread = z * z / n;
  const double margin = z * std::sqrt(share * (1 - share) / n + spread / (4 * n));
  return std::max(0.0, (share + spread / 2 - margin) / (1 + spread));
}

// Whether the range says anything of the inputs.
bool tells(const UsedRange& range) {
  const bool as_calibrated = range.zeros_alone && range.use.largest == 0;
  return range.use.elements > 0 && !range.bounded && !as_calibrated;
}

// How badly one range fits: octaves between observed and representable, plus the percentage that is
// surely clipped (of a small tensor, a few clipped elements prove little). Quantizers leave room in
// ranges of 16 bits: an octave of it does not count.
double misfit(const UsedRange& range) {
  constexpr double room = 1;
  const double above = std::log2(range.use.largest / range.representable);
  const double octaves =
      range.is_wide && above < 0 ? std::max(0.0, -above - room) : std::abs(above);
  return (octaves <= most_octaves ? octaves : most_octaves) + 100 * surely_clipped(range.use);
}

std::vector<std::string> watched_names(const std::vector<WatchedQuantizer>& quantizers,
                                       const Model& model, bool of_reference) {
  std::set<std::string> names;
  for (const WatchedQuantizer& quantizer : quantizers)
    if (quantizer.of_reference == of_reference) names.insert(quantizer.watched);
  for (const TensorSpec& input : model.inputs()) names.erase(input.name);
  return {names.begin(), names.end()};
}

OrtOptions watching(const OrtOptions& runtime, std::vector<std::string> names) {
  OrtOptions options = in_exact_arithmetic(runtime);
  options.watch = Watch::only(std::move(names));
  return options;
}

}  // namespace

OrtOptions in_exact_arithmetic(OrtOptions runtime) {
  runtime.exact = true;
  runtime.optimization = Optimization::disabled;
  runtime.provider = "cpu";
  runtime.provider_options.clear();
  return runtime;
}

QuantizerUse pool(const QuantizerUse& first, const QuantizerUse& second) {
  return {std::max(first.largest, second.largest), first.clipped + second.clipped,
          first.elements + second.elements};
}

bool is_wide(const Quantizer& quantizer) { return bits(quantizer.dtype) >= 16; }

CalibrationFit fit_of(std::span<const UsedRange> ranges) {
  CalibrationFit fit;
  double sum = 0;
  for (const UsedRange& range : ranges) {
    const QuantizerUse& use = range.use;
    if (use.elements == 0) continue;  // its branch was not taken
    if (const double ratio = use.largest / range.representable; ratio > fit.overflow) {
      fit.overflow = ratio;
      fit.most_overflowed = range.name;
    }
    if (const double ratio = use.largest / range.representable;
        range.is_input && ratio > fit.input_overflow) {
      fit.input_overflow = ratio;
      fit.overflowed_input = range.name;
    }
    if (!tells(range)) continue;
    sum += misfit(range);
    ++fit.quantizers;
    if (const double share = surely_clipped(use); share > fit.surely_clipped) {
      fit.surely_clipped = share;
      fit.clipped_share = clipped_share(use);
      fit.most_clipped = range.name;
    }
  }
  if (fit.quantizers > 0) fit.score = sum / static_cast<double>(fit.quantizers);
  fit.without_worst = score_without_worst(ranges);
  return fit;
}

double score_without_worst(std::span<const UsedRange> ranges) {
  double sum = 0, worst = 0, quantizers = 0;
  for (const UsedRange& range : ranges) {
    if (!tells(range)) continue;
    const double own = misfit(range);
    sum += own;
    worst = std::max(worst, own);
    ++quantizers;
  }
  if (quantizers < 2) return sum;
  return (sum - worst) / (quantizers - 1);
}

struct CalibrationProbe::State {
  std::vector<WatchedQuantizer> quantizers;
  std::multimap<std::string, std::size_t, std::less<>> by_tensor, by_reference_tensor;
  std::optional<OrtRunner> candidate, reference;  // set if a tensor of theirs is observed
  std::unique_ptr<Runner> fed;                    // the reference, fed with the candidate's inputs
  InputBindings bindings;
};

CalibrationProbe::CalibrationProbe(const ModelIndex& candidate_index,
                                   const ModelIndex* reference_index, const OrtOptions& runtime,
                                   Watched watched)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  const Model& candidate = candidate_index.model();
  state.quantizers = find_quantizers(candidate_index, reference_index, watched);
  for (std::size_t i = 0; i < state.quantizers.size(); ++i)
    (state.quantizers[i].of_reference ? state.by_reference_tensor : state.by_tensor)
        .emplace(state.quantizers[i].watched, i);
  if (watched == Watched::candidate)
    state.candidate.emplace(candidate.clone(),
                            watching(runtime, watched_names(state.quantizers, candidate, false)));
  if (state.by_reference_tensor.empty()) return;
  const Model& reference = reference_index->model();
  state.bindings = bind_inputs(candidate.inputs(), fed_inputs(reference, candidate));
  state.reference.emplace(reference.clone(),
                          watching(runtime, watched_names(state.quantizers, reference, true)));
  state.fed = feed_decoder(*state.reference, reference, candidate);
}

CalibrationProbe::~CalibrationProbe() = default;
CalibrationProbe::CalibrationProbe(CalibrationProbe&&) noexcept = default;

std::size_t CalibrationProbe::quantizers() const { return state_->quantizers.size(); }

CalibrationProbe::Sample CalibrationProbe::run(std::span<const Tensor> inputs) {
  Sample sample;
  sample.uses.resize(quantizers());
  const auto observe = [&](const auto& by_tensor, const TensorView& tensor) {
    const auto [begin, end] = by_tensor.equal_range(tensor.name);
    for (auto at = begin; at != end; ++at) {
      const WatchedQuantizer& quantizer = state_->quantizers[at->second];
      QuantizerUse& use = sample.uses[at->second];
      if (!quantizer.stored && tensor.dtype == DType::f32)
        use = pool(use, use_of(elements<float>(tensor), quantizer));
      else
        use = pool(use,
                   use_of(to_f32(quantizer.stored ? dequantize(tensor, quantizer.quantizer).view()
                                                  : tensor),
                          quantizer));
    }
  };
  const auto run = [&](Runner& runner, const auto& by_tensor, std::span<const Tensor> own_inputs) {
    for (const Tensor& input : own_inputs) observe(by_tensor, input);
    return runner.run(own_inputs, [&](const TensorView& tensor) { observe(by_tensor, tensor); });
  };
  if (auto& candidate = state_->candidate)
    sample.outputs = run(*candidate, state_->by_tensor, inputs);
  if (state_->reference) {
    Runner& reference = state_->fed ? *state_->fed : *state_->reference;
    run(reference, state_->by_reference_tensor,
        apply_bindings(state_->bindings, reference.inputs(), inputs));
  }
  return sample;
}

std::vector<UsedRange> CalibrationProbe::ranges(std::span<const QuantizerUse> uses) const {
  std::vector<UsedRange> ranges;
  for (std::size_t i = 0; i < uses.size(); ++i)
    ranges.push_back({state_->quantizers[i].name, state_->quantizers[i].largest(), uses[i],
                      state_->quantizers[i].bounded, state_->quantizers[i].zeros_alone,
                      state_->quantizers[i].is_input, is_wide(state_->quantizers[i].quantizer)});
  return ranges;
}

// Divides a large tensor into `sketched_elements` ranges and takes one element of each, at an
// offset that no pattern of rows repeats.
TensorSketch sketch_of(const TensorView& tensor) {
  TensorSketch sketch{.size = tensor.size(), .hash = content_hash(tensor.bytes).first};
  if (sketch.size <= sketched_elements) {
    sketch.elements = to_f64(tensor);
    return sketch;
  }
  sketch.elements.resize(sketched_elements);
  const auto begin = [&](std::int64_t i) {
    return i * (sketch.size / sketched_elements) +
           i * (sketch.size % sketched_elements) / sketched_elements;
  };
  std::uint64_t spread = 0;
  for (std::int64_t i = 0; i < sketched_elements; ++i) {
    spread += 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
    const std::int64_t length = begin(i + 1) - begin(i);
    const auto place =
        static_cast<std::int64_t>((spread >> 32) % static_cast<std::uint64_t>(length));
    widen(tensor, begin(i) + place, std::span(&sketch.elements[static_cast<std::size_t>(i)], 1));
  }
  return sketch;
}

void Diversity::add(const TensorSketch& sketch) {
  const std::vector<double>& values = sketch.elements;
  if (samples_ == 0) {
    sums_.assign(values.size(), 0);
    size_ = sketch.size;
    hash_ = sketch.hash;
  }
  if (sketch.size != size_) {
    other_sizes_ = true;
    return;
  }
  other_elements_ |= size_ > sketched_elements && sketch.hash != hash_;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums_[i] += values[i];
    squares_ += values[i] * values[i];
  }
  ++samples_;
}

double Diversity::value() const {
  if (samples_ < 2) return 1;
  double means = 0;  // sum of squared means, times the number of samples
  for (const double sum : sums_) means += sum * sum / static_cast<double>(samples_);
  return squares_ == 0 ? 0 : std::max(0.0, squares_ - means) / squares_;
}

}  // namespace vernier
