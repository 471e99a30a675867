#include "vernier/analysis/compare/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "vernier/analysis/compare/compared_sample.h"
#include "vernier/analysis/compare/output_failures.h"
#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/analysis/inputs/sequence.h"
#include "vernier/analysis/pairing/by_name.h"
#include "vernier/analysis/parts/record.h"
#include "vernier/error.h"
#include "vernier/metrics/kernels.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

OutputPairing require_pairs(std::span<const Tensor> reference, std::span<const Tensor> candidate,
                            const CompareOptions& options) {
  OutputPairing pairing =
      pair_outputs(reference, candidate, options.io.outputs, options.outputs_by_position);
  // Weights of another network are a result, even if no output can be paired.
  const auto& weights = options.evidence.weights;
  const bool other_network = weights && weights->answer == WeightEvidence::Answer::different;
  if (pairing.pairs.empty() && options.before.empty() && !other_network)
    throw Error(fmt::format(
        "[compare] no output is in both models: the reference has {}, the candidate {}; pair them "
        "by --map-output REFERENCE=CANDIDATE",
        fmt::join(names_of(reference), ", "), fmt::join(names_of(candidate), ", ")));
  return pairing;
}

// Warns of outputs that were paired only by position, and of equal names in another order.
std::vector<Warning> pairing_warnings(const OutputPairing& pairing,
                                      std::span<const Tensor> reference) {
  std::vector<Warning> warnings;
  for (const OutputPair& pair : pairing.pairs)
    if (pair.match == Match::position)
      warnings.push_back(
          {WarningKind::output_by_position, pair.name, reference[pair.reference].name});
  if (auto warning = order_warning(pairing, names_of(reference)))
    warnings.push_back(*std::move(warning));
  return warnings;
}

bool has_nan(const TensorView& tensor) {
  return is_float(tensor.dtype) && measure(tensor, tensor).reference_nan > 0;
}

bool has_nonfinite(const TensorView& tensor) {
  if (!is_float(tensor.dtype)) return false;
  const auto values = measure(tensor, tensor);
  return values.reference_nan + values.reference_inf > 0;
}

const Tensor* find_output(const std::vector<Tensor>& outputs, const std::string& name) {
  const auto found = std::ranges::find(outputs, name, &Tensor::name);
  return found == outputs.end() ? nullptr : &*found;
}

// Accumulators over samples, one for each pair.
struct Pairs {
  std::vector<PairOverSteps> accumulators;

  std::vector<PairResult> results() const {
    std::vector<PairResult> results;
    for (const PairOverSteps& accumulator : accumulators) results.push_back(accumulator.result());
    return results;
  }
  std::vector<SequenceSample> take() {
    std::vector<SequenceSample> samples;
    for (PairOverSteps& accumulator : accumulators) samples.push_back(accumulator.take());
    return samples;
  }
  void add(std::int64_t sample, const std::vector<SequenceSample>& measured) {
    for (std::size_t i = 0; i < accumulators.size() && i < measured.size(); ++i)
      accumulators[i].add(sample, measured[i]);
  }
};

// A part, and the index of the output pair that it belongs to.
struct PairedPart {
  OutputPart part;
  std::size_t pair = 0;
  bool fits = true;  // in all runs of the current sample
};

// The largest loss of an output: how much better it is in exact arithmetic, by the mean of its
// decibels or by its mean noise over all samples, whichever is less. Behind a saturated Softmax the
// decibels of single samples say nothing. nullopt if no output has finite decibels.
std::optional<double> runtime_loss(const std::vector<PairResult>& exact,
                                   const std::vector<PairResult>& as_run) {
  const std::size_t mse = *find_metric("mse");
  std::optional<double> loss;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double best = exact[i].similarity.statistics[0].mean;
    const double run = as_run[i].similarity.statistics[0].mean;
    const double noise = as_run[i].similarity.statistics[mse].mean;
    const double least = exact[i].similarity.statistics[mse].mean;
    if (std::isfinite(best) && std::isfinite(run))
      loss = std::max(loss.value_or(0), std::min(best - run, 10 * std::log10(noise / least)));
  }
  return loss;
}

// The inputs that samples are drawn for: the reference's if the candidate is recorded.
const std::vector<TensorSpec>& fed_inputs(const Runner& reference, const Runner& candidate) {
  return candidate.inputs().empty() ? reference.inputs() : candidate.inputs();
}

class Comparison {
 public:
  Comparison(Runner& reference, Runner& candidate, const CompareOptions& options)
      : reference_(reference),
        candidate_(candidate),
        options_(options),
        bindings_(bind_inputs(fed_inputs(reference, candidate), reference.inputs(), options.io)) {
    for (const BeforeActivation& before : options.before) add_pair(before_, before.output);
  }

  // Runs one sample, a sequence of steps.
  ComparedSample measure(Samples& samples, std::int64_t sequence) {
    const std::int64_t steps = options_.io.steps;
    for (ModelState* state : {&reference_state_, &candidate_state_, &exact_state_}) state->reset();
    ComparedSample measured{.number = samples.number(sequence * steps) / steps};
    if (options_.exact) measured.uses.resize(options_.exact->quantizers());
    for (std::int64_t index = sequence * steps; index < (sequence + 1) * steps; ++index)
      measure_run(samples.number(index), samples.sample(index), measured);
    measured.outputs = outputs_.take();
    measured.exact = exact_.take();
    measured.before = before_.take();
    measured.parts = take_parts();
    return measured;
  }

  // Called in the order of the samples.
  void add(const ComparedSample& sample) {
    if (!std::exchange(is_paired_, true)) pair(sample.reference_outputs, sample.candidate_outputs);
    if (sample.sketches.size() > diversity_.size() || sample.parts.size() > paired_parts_.size() ||
        sample.uses.size() != (options_.exact ? options_.exact->quantizers() : 0))
      throw damaged_record();
    outputs_.add(sample.number, sample.outputs);
    exact_.add(sample.number, sample.exact);
    before_.add(sample.number, sample.before);
    parts_.add(sample.number, sample.parts);
    for (std::size_t i = 0; i < sample.sketches.size(); ++i)
      for (const TensorSketch& sketch : sample.sketches[i]) diversity_[i].add(sketch);
    uses_.resize(sample.uses.size());
    for (std::size_t i = 0; i < uses_.size(); ++i) uses_[i] = pool(uses_[i], sample.uses[i]);
    if (sample.nan_input && !std::exchange(nan_input_, true)) {
      result_.nonfinite_input = NanOrigin{.sample = sample.number, .tensor = *sample.nan_input};
      result_.warnings.push_back({.kind = WarningKind::nonfinite_input,
                                  .subject = *sample.nan_input,
                                  .value = static_cast<double>(sample.number)});
    }
    if (sample.nan_tensor && !result_.nan_origin)
      result_.nan_origin = NanOrigin{.sample = sample.number, .tensor = *sample.nan_tensor};
    ++result_.samples;
  }

  CompareResult finish() {
    std::vector<Warning>& warnings = result_.warnings;
    warnings.insert(warnings.begin(), bindings_.warnings.begin(), bindings_.warnings.end());
    warn_of_constant_outputs();
    result_.outputs = outputs_.results();
    result_.exact_outputs = exact_.results();
    result_.before_activation = before_.results();
    const std::vector<PairResult> parts = parts_.results();
    for (std::size_t i = 0; i < parts.size(); ++i)
      result_.parts.push_back({paired_parts_[i].part, parts[i]});
    move_maps();
    if (options_.exact)
      result_.runtime_loss_db = runtime_loss(result_.exact_outputs, result_.outputs);
    std::ranges::copy(unpaired_, std::back_inserter(result_.outputs));
    list_not_compared();
    result_.evidence = evidence();
    result_.verdict =
        make_verdict(options_.limits, output_failures(result_, options_), result_.evidence);
    return std::move(result_);
  }

 private:
  void measure_run(std::int64_t number, const std::vector<Tensor>& sample,
                   ComparedSample& measured) {
    reference_.seek(number);
    candidate_.seek(number);
    const std::vector<Tensor> candidate_inputs = fed(sample, candidate_state_);
    std::vector<Tensor> reference = reference_.run(
        fed(apply_bindings(bindings_, reference_.inputs(), sample), reference_state_),
        options_.observe_reference);
    note_nonfinite(sample, reference, measured);
    std::vector<Tensor> candidate = candidate_.run(candidate_inputs, options_.observe_candidate);
    if (!std::exchange(is_paired_, true)) pair(reference, candidate);
    if (measured.reference_outputs.empty() && measured.candidate_outputs.empty()) {
      measured.reference_outputs = without_bytes(reference);
      measured.candidate_outputs = without_bytes(candidate);
    }
    reference_state_.keep(feedback_.reference, reference);
    candidate_state_.keep(feedback_.candidate, options_.io.teacher ? reference : candidate);
    transform(reference, candidate);
    measured.sketches.resize(pairing_.pairs.size());
    for (std::size_t i = 0; i < pairing_.pairs.size(); ++i) {
      const Tensor& expected = reference[pairing_.pairs[i].reference];
      const Tensor& found = candidate[pairing_.pairs[i].candidate];
      outputs_.accumulators[i].measure(number, expected, found);
      measured.sketches[i].push_back(sketch_of(expected));
      if (!result_.nan_origin && !measured.nan_tensor && has_nan(found) && !has_nan(expected))
        measured.nan_tensor = trace_nan(candidate_inputs);
    }
    if (options_.exact)
      measure_exact(number, reference, sample, measured);
    else
      measure_judged(number, reference, candidate);
  }

  void transform(std::vector<Tensor>& reference, std::vector<Tensor>& candidate) const {
    if (!options_.transform) return;
    for (const OutputPair& pair : pairing_.pairs)
      for (Tensor* value : {&reference[pair.reference], &candidate[pair.candidate]})
        *value = options_.transform(pair.name, std::move(*value));
  }

  // Called after the first run: only then is it certain what a model returns.
  void pair(const std::vector<Tensor>& reference, const std::vector<Tensor>& candidate) {
    const auto own_reference = own_outputs(reference, &BeforeActivation::reference);
    const auto own_candidate = own_outputs(candidate, &BeforeActivation::candidate);
    pairing_ = require_pairs(own_reference, own_candidate, options_);
    if (!options_.outputs_by_position)
      std::ranges::move(pairing_warnings(pairing_, own_reference),
                        std::back_inserter(result_.warnings));
    feedback_ = resolve_feedback(options_.io, {.reference_inputs = reference_.inputs(),
                                               .candidate_inputs = candidate_.inputs(),
                                               .reference_outputs = names_of(own_reference),
                                               .candidate_outputs = names_of(own_candidate),
                                               .bindings = bindings_,
                                               .pairing = pairing_});
    std::vector<std::string> names;
    for (const OutputPair& output : pairing_.pairs) {
      names.push_back(output.name);
      add_pair(outputs_, output.name);
      if (options_.exact) add_pair(exact_, output.name);
    }
    for (const std::size_t i : pairing_.only_reference)
      if (std::ranges::count(candidate_.inputs(), reference[i].name, &TensorSpec::name) == 0)
        unpaired_.push_back(one_sided(reference[i], PairStatus::only_in_reference));
    for (const std::size_t i : pairing_.only_candidate)
      unpaired_.push_back(one_sided(candidate[i], PairStatus::only_in_candidate));
    diversity_.resize(names.size());
    pair_parts(reference);
    for (const BeforeActivation& before : options_.before)
      if (!before.is_tensor) names.push_back(before.output);
    if (!names.empty()) require_tensors(options_.limits, names);
  }

  void pair_parts(const std::vector<Tensor>& reference) {
    for (const OutputPart& part : options_.parts)
      for (std::size_t i = 0; i < pairing_.pairs.size(); ++i) {
        const OutputPair& pair = pairing_.pairs[i];
        if (part.output != (part.of_reference ? reference[pair.reference].name : pair.name))
          continue;
        paired_parts_.push_back({part, i});
        paired_parts_.back().part.output = pair.name;
        add_pair(parts_, part_name(paired_parts_.back().part));
      }
  }

  void add_pair(Pairs& pairs, const std::string& name) const {
    pairs.accumulators.emplace_back(name, measured_for(options_.limits), options_.io.steps);
  }

  static std::vector<Tensor> fed(std::vector<Tensor> inputs, const ModelState& state) {
    state.feed(inputs);
    return inputs;
  }

  // The model's own outputs: those that were added for options_.before follow them.
  std::span<const Tensor> own_outputs(std::span<const Tensor> outputs,
                                      std::string BeforeActivation::*side) const {
    while (!outputs.empty() &&
           std::ranges::find(options_.before, outputs.back().name, side) != options_.before.end())
      outputs = outputs.first(outputs.size() - 1);
    return outputs;
  }

  void measure_exact(std::int64_t number, const std::vector<Tensor>& reference,
                     const std::vector<Tensor>& sample, ComparedSample& measured) {
    const CalibrationProbe::Sample exact = options_.exact->run(fed(sample, exact_state_));
    exact_state_.keep(feedback_.candidate, options_.io.teacher ? reference : exact.outputs);
    for (std::size_t i = 0; i < pairing_.pairs.size(); ++i)
      if (const Tensor* found = find_output(exact.outputs, candidate_name(i)))
        exact_.accumulators[i].measure(number, reference[pairing_.pairs[i].reference], *found);
    for (std::size_t i = 0; i < measured.uses.size(); ++i)
      measured.uses[i] = pool(measured.uses[i], exact.uses[i]);
    measure_judged(number, reference, exact.outputs);
  }

  const std::string& candidate_name(std::size_t pair) const {
    return candidate_.outputs()[pairing_.pairs[pair].candidate].name;
  }

  // Measures what is judged in place of outputs, or in addition to them.
  void measure_judged(std::int64_t number, const std::vector<Tensor>& reference,
                      const std::vector<Tensor>& candidate) {
    for (std::size_t i = 0; i < options_.before.size(); ++i) {
      const Tensor* expected = find_output(reference, options_.before[i].reference);
      const Tensor* found = find_output(candidate, options_.before[i].candidate);
      if (expected && found) before_.accumulators[i].measure(number, *expected, *found);
    }
    for (std::size_t i = 0; i < paired_parts_.size(); ++i)
      measure_part(number, i, reference,
                   find_output(candidate, candidate_name(paired_parts_[i].pair)));
  }

  void measure_part(std::int64_t number, std::size_t index, const std::vector<Tensor>& reference,
                    const Tensor* found) {
    PairedPart& paired = paired_parts_[index];
    const Tensor& expected = reference[pairing_.pairs[paired.pair].reference];
    paired.fits = paired.fits && found && has_part(expected, paired.part) &&
                  has_part(*found, paired.part) && expected.shape == found->shape;
    if (paired.fits)
      parts_.accumulators[index].measure(number, slice_of(expected, paired.part),
                                         slice_of(*found, paired.part));
  }

  // What the sample shows of each part; empty if the part is all zeros in the reference, or if its
  // axis is not as long as on the first sample.
  std::vector<SequenceSample> take_parts() {
    std::vector<SequenceSample> samples = parts_.take();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (!std::exchange(paired_parts_[i].fits, true)) samples[i] = {};
      std::erase_if(samples[i].pairs,
                    [](const PairSample& pair) { return pair.similarity.sqnr_db == -INFINITY; });
    }
    return samples;
  }

  // Moves outputs that are maps, compared as the tensors they are made of, to the other outputs.
  void move_maps() {
    for (std::size_t i = options_.before.size(); i-- > 0;) {
      if (options_.before[i].is_tensor) continue;
      const auto pair = result_.before_activation.begin() + static_cast<std::ptrdiff_t>(i);
      if (pair->similarity.samples > 0) {
        if (options_.exact) result_.exact_outputs.push_back(*pair);
        result_.outputs.push_back(*pair);
      }
      result_.before_activation.erase(pair);
    }
  }

  void list_not_compared() {
    const auto is_listed = [&](const std::string& name) {
      const auto has = [&](const auto& list, auto member) {
        return std::ranges::find(list, name, member) != list.end();
      };
      return has(result_.outputs, &PairResult::name) ||
             has(result_.not_compared, &UnwatchedTensor::name);
    };
    for (const Runner* runner : {&reference_, &candidate_})
      for (const UnwatchedTensor& output : runner->unwatched())
        if (output.type.empty() && !is_listed(output.name))  // leaves have a type
          result_.not_compared.push_back(output);
  }

  // An infinite input may be meant, as in an attention mask: it counts if the outputs show it.
  void note_nonfinite(const std::vector<Tensor>& sample, const std::vector<Tensor>& outputs,
                      ComparedSample& measured) const {
    if (nan_input_ || measured.nan_input) return;
    for (const Tensor& input : sample)
      if (has_nonfinite(input) && (has_nan(input) || std::ranges::any_of(outputs, has_nonfinite))) {
        measured.nan_input = input.name;
        return;
      }
  }

  void warn_of_constant_outputs() {
    if (result_.samples <= 1) return;
    for (const bool zero : {true, false}) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < diversity_.size(); ++i)
        if (!diversity_[i].is_empty() && diversity_[i].is_constant() &&
            diversity_[i].is_zero() == zero)
          names.push_back(pairing_.pairs[i].name);
      if (names.empty()) continue;
      result_.warnings.push_back(
          {.kind = zero ? WarningKind::zero_output : WarningKind::constant_output,
           .subject = names[0],
           .value = static_cast<double>(names.size() - 1)});
    }
  }

  Evidence evidence() const {
    Evidence evidence = options_.evidence;
    if (!uses_.empty()) evidence.calibration = options_.exact->fit(uses_);
    for (const Diversity& diversity : diversity_)
      evidence.diversity = std::max(evidence.diversity.value_or(0), diversity.value());
    if (evidence.quantized && !fails_by_ids(options_, result_))
      evidence.ids = fewest_equal_ids(result_, options_);
    evidence.quiet_part = quiet_part(result_, options_);
    const std::vector<PairResult> judged = judged_outputs(result_);
    if (const auto empty = std::ranges::find_if(judged, is_empty); empty != judged.end())
      evidence.empty_output = empty->name;
    return evidence;
  }

  std::string trace_nan(const std::vector<Tensor>& inputs) const {
    std::string origin;
    if (options_.watch_candidate)
      options_.watch_candidate()->run(inputs, [&](const TensorView& tensor) {
        if (origin.empty() && has_nan(tensor)) origin = tensor.name;
      });
    return origin;
  }

  Runner& reference_;
  Runner& candidate_;
  const CompareOptions& options_;
  InputBindings bindings_;
  bool is_paired_ = false;
  OutputPairing pairing_;
  ModelFeedback feedback_;
  ModelState reference_state_, candidate_state_, exact_state_;
  Pairs outputs_, exact_, before_, parts_;
  std::vector<PairedPart> paired_parts_;
  std::vector<QuantizerUse> uses_;
  bool nan_input_ = false;
  std::vector<Diversity> diversity_;
  std::vector<PairResult> unpaired_;
  CompareResult result_;
};

// The sample's record, or a new measurement; nullopt if it is to be measured elsewhere.
std::optional<ComparedSample> sample_at(Comparison& comparison, Samples& samples,
                                        std::int64_t sequence, const CompareOptions& options) {
  SampleRecords* records = options.records;
  if (!records) return comparison.measure(samples, sequence);
  if (const auto record = records->find(compare_section, sequence))
    return from_record<ComparedSample>(*record);
  if (!records->runs(sequence, samples.size() / options.io.steps)) return std::nullopt;
  ComparedSample measured = comparison.measure(samples, sequence);
  records->keep(compare_section, sequence, to_record(measured));
  return measured;
}

}  // namespace

void complete_options(CompareOptions& options, Precision precision, bool real_inputs) {
  options.evidence.own_limits = !options.limits.empty();
  if (options.limits.empty()) options.limits = default_limits(precision);
  options.evidence.real_inputs = real_inputs;
}

CompareResult compare(Runner& reference, Runner& candidate, Samples& samples,
                      const CompareOptions& options) {
  Comparison comparison(reference, candidate, options);
  const std::int64_t sequences = samples.size() / options.io.steps;
  std::int64_t done = 0;
  try {
    bool go_on = true;
    for (std::int64_t sequence = 0; sequence < sequences && go_on; ++sequence) {
      if (const auto sample = sample_at(comparison, samples, sequence, options)) {
        comparison.add(*sample);
        ++done;
      }
      if (options.progress) go_on = options.progress(done, sequences);
    }
  } catch (const Stopped&) {
    if (done == 0) throw;
    run_group()->resume();
  }
  CompareResult result = comparison.finish();
  result.interrupted = done < sequences;
  if (result.interrupted)
    result.verdict = interrupted_verdict(std::move(result.verdict), done, sequences);
  return result;
}

}  // namespace vernier
