#include "vernier/analysis/debug/activation_damage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <utility>

#include "vernier/analysis/pairing/by_name.h"
#include "vernier/analysis/pairing/introduced.h"
#include "vernier/metrics/similarity.h"

namespace vernier {
namespace {

std::optional<double> sqnr_of(const std::optional<NoiseSums>& sums) {
  return sums ? std::optional(sqnr_db(*sums)) : std::nullopt;
}

// The candidate holds NaN or infinity, the reference does not: squares of floats are finite in
// float64.
bool adds_nonfinite(const std::optional<NoiseSums>& sums) {
  return sums && std::isfinite(sums->reference_squares) && !std::isfinite(sums->difference_squares);
}

// Rounding to a quantizer of this step is noise of step^2 / 12 an element.
std::optional<double> estimated_sqnr_db(const NoiseSums& stored, const Quantizer& quantizer) {
  const auto range = representable_range(quantizer);
  if (!range || stored.count == 0) return std::nullopt;
  const double noise = static_cast<double>(stored.count) * range->step * range->step / 12;
  return 10 * std::log10(stored.reference_squares / noise);
}

std::vector<std::string> names_of(const std::vector<Tensor>& tensors) {
  std::vector<std::string> names;
  for (const Tensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

std::unique_ptr<OrtRunner> open_watching(const Model& model, std::vector<std::string> tensors,
                                         PairedTensors beside, OrtOptions options) {
  for (const TensorSpec& input : model.inputs()) std::erase(tensors, input.name);
  options.watch = Watch::only(std::move(tensors));
  options.watch.beside = std::move(beside);
  return std::make_unique<OrtRunner>(model.clone(), options);
}

std::vector<std::string> names_of(const RequestCounts& requests) {
  std::vector<std::string> names;
  for (const auto& [name, count] : requests) names.push_back(name);
  return names;
}

// While it is opened, a model takes twice its weights: only small ones are opened together.
std::launch opening_policy(const Model& float_model, const Model& quantized_model) {
  constexpr std::int64_t small_bytes = std::int64_t{32} << 20;
  const bool small = float_model.weight_bytes() + quantized_model.weight_bytes() <= small_bytes;
  return small ? std::launch::async : std::launch::deferred;
}

}  // namespace

ActivationDamage::ActivationDamage(const Model& float_model, const Model& quantized_model,
                                   ActivationSites sites, const OrtOptions& runtime)
    : sites_(std::move(sites)), histograms_(sites_.size()), totals_(sites_.size()) {
  auto opened = std::async(opening_policy(float_model, quantized_model), [&] {
    return open_watching(float_model, names_of(sites_.requests_after()), {}, runtime);
  });
  quantized_runner_ = open_watching(quantized_model, sites_.tensors(), sites_.pairs(), runtime);
  float_runner_ = opened.get();
  sites_.set_paired(quantized_runner_->probes().beside);
  bindings_ = bind_inputs(quantized_runner_->inputs(), float_runner_->inputs());
  relayouts_ = std::make_unique<Relayouts>(sites_.size() + quantized_runner_->outputs().size());
}

SampleDamage ActivationDamage::measure(std::int64_t number, const std::vector<Tensor>& sample,
                                       Schedule schedule) {
  std::unique_ptr<MeasurementBuffers> buffers = borrow();
  SampleMeasurement measurement(sites_, histograms_, *relayouts_,
                                schedule == Schedule::sequential ? &buffers->spare : nullptr,
                                number);
  const auto observe = [&](const TensorView& tensor, const TakeReference& take) {
    measurement.observe(tensor, take);
  };
  const auto inputs = apply_bindings(bindings_, float_runner_->inputs(), sample);
  const LockstepOutputs outputs =
      schedule == Schedule::lockstep
          ? run_lockstep(*float_runner_, inputs, *quantized_runner_, sample, observe,
                         {.requests = sites_.requests_after()})
          : buffers->sequential.run(*float_runner_, inputs, *quantized_runner_, sample, observe);
  SampleDamage damage = std::move(measurement).result();
  damage.outputs = compare_outputs(outputs);
  give_back(std::move(buffers));
  return damage;
}

std::unique_ptr<ActivationDamage::MeasurementBuffers> ActivationDamage::borrow() {
  const std::lock_guard lock(idle_mutex_);
  if (idle_.empty())
    return std::make_unique<MeasurementBuffers>(
        MeasurementBuffers{SequentialRun(sites_.requests_after()), {}});
  std::unique_ptr<MeasurementBuffers> buffers = std::move(idle_.back());
  idle_.pop_back();
  return buffers;
}

void ActivationDamage::give_back(std::unique_ptr<MeasurementBuffers> buffers) {
  const std::lock_guard lock(idle_mutex_);
  idle_.push_back(std::move(buffers));
}

std::vector<OutputDamage> ActivationDamage::compare_outputs(const LockstepOutputs& outputs) {
  std::vector<OutputDamage> rows;
  for (const Tensor& output : outputs.candidate) rows.push_back({.name = output.name});
  Tensor relaid;
  for (const OutputPair& pair :
       pair_outputs(names_of(outputs.reference), names_of(outputs.candidate)).pairs) {
    const Tensor& candidate = outputs.candidate[pair.candidate];
    const Tensor* counterpart = (*relayouts_)(sites_.size() + pair.candidate,
                                              outputs.reference[pair.reference], candidate, relaid);
    if (counterpart) rows[pair.candidate].cumulative = measure_noise(*counterpart, candidate);
  }
  return rows;
}

void ActivationDamage::add(const SampleDamage& sample) {
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    const SiteDamage& site = sample.sites[i];
    add_to(totals_[i].local, site.local);
    add_to(totals_[i].intended, site.intended);
    add_to(totals_[i].cumulative, site.cumulative);
    add_to(totals_[i].stored, site.stored);
    totals_[i].seen = pool(totals_[i].seen, site.seen);
  }
  for (const std::size_t site : sample.order)
    if (!std::exchange(totals_[site].met, true)) order_.push_back(site);
  outputs_.resize(sample.outputs.size());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i].name = sample.outputs[i].name;
    add_to(outputs_[i].cumulative, sample.outputs[i].cumulative);
  }
}

std::int64_t ActivationDamage::add_introduced(const std::vector<Tensor>& sample) {
  const auto& inputs = quantized_runner_->inputs();
  const auto measure = [&](const TensorView& tensor, const TakeReference& take) {
    const bool is_input = std::ranges::find(inputs, tensor.name, &TensorSpec::name) != inputs.end();
    return is_input ? std::vector<std::byte>() : rebase(tensor, take);
  };
  return run_on_reference_inputs(*float_runner_,
                                 apply_bindings(bindings_, float_runner_->inputs(), sample),
                                 *quantized_runner_, sample, measure, sites_.requests_before())
      .reference_bytes;
}

// What a node made of float inputs is measured as its quantizer leaves it, and then replaced by the
// float model's tensor, on which the next nodes work: before the quantizer, or, where the two are
// shown together, behind it.
std::vector<std::byte> ActivationDamage::rebase(const TensorView& tensor,
                                                const TakeReference& take) {
  const ActivationSites::SitesOfTensor* met = sites_.at(tensor.name);
  if (!met) return {};
  Tensor replacement;
  for (const std::size_t site : met->entering)
    if (!sites_[site].paired)
      rebase(site, tensor, fake_quantize(tensor, sites_[site].activation.quantizer), take,
             replacement);
  for (const std::size_t site : met->leaving) {
    if (!sites_[site].paired) continue;
    rebase(site, tensor, tensor, take, replacement);
    if (!replacement.bytes.empty())
      replacement = fake_quantize(replacement, sites_[site].activation.quantizer);
  }
  return std::move(replacement.bytes);
}

// `tensor` is to be replaced, `quantized` to be measured.
void ActivationDamage::rebase(std::size_t site, const TensorView& tensor,
                              const TensorView& quantized, const TakeReference& take,
                              Tensor& replacement) {
  const Counterpart& counterpart = sites_[site].counterpart;
  Tensor relaid;
  const Tensor* reference = counterpart ? take(counterpart.tensor) : nullptr;
  if (reference) reference = (*relayouts_)(site, *reference, tensor, relaid);
  if (!reference) return;
  add_to(totals_[site].introduced, measure_noise(*reference, quantized));
  if (reference->dtype == tensor.dtype) replacement = *reference;
}

// A quantizer turns NaN into a number: what went into it tells.
bool ActivationDamage::hides_nonfinite(const Total& total) {
  return total.local && !std::isfinite(total.local->reference_squares) && total.cumulative &&
         std::isfinite(total.cumulative->reference_squares);
}

DebugActivation ActivationDamage::row(std::size_t site) const {
  const QuantizedActivation& activation = sites_[site].activation;
  const Total& total = totals_[site];
  DebugActivation row{.tensor_name = activation.name,
                      .local_sqnr_db = sqnr_of(total.local),
                      .intended_sqnr_db = sqnr_of(total.intended),
                      .cumulative_sqnr_db = sqnr_of(total.cumulative),
                      .counterpart = sites_[site].counterpart,
                      .node = activation.writer,
                      .op = activation.writer_op,
                      .introduced_sqnr_db = sqnr_of(total.introduced),
                      .nonfinite = adds_nonfinite(total.cumulative) || hides_nonfinite(total)};
  if (!activation.stored.empty()) row.quantizer = activation.quantizer;
  if (row.quantizer && !row.local_sqnr_db && total.stored) {
    row.local_sqnr_db = estimated_sqnr_db(*total.stored, *row.quantizer);
    row.local_is_estimated = row.local_sqnr_db.has_value();
  }
  if (const auto& noise = sites_[site].noise)
    row.noise = noise_of(total.seen, histograms_[site], *noise);
  if (row.noise && total.local && total.local->difference_squares > 0)
    row.rounding_share =
        std::max(0.0, 1 - row.noise->clipping_noise / total.local->difference_squares);
  return row;
}

std::vector<DebugActivation> ActivationDamage::activations() const {
  std::vector<DebugActivation> rows;
  for (const std::size_t site : order_) rows.push_back(row(site));
  for (std::size_t site = 0; site < sites_.size(); ++site)
    if (!totals_[site].met) rows.push_back(row(site));
  return rows;
}

std::vector<DebugOutput> ActivationDamage::outputs() const {
  std::vector<DebugOutput> rows;
  for (const OutputDamage& output : outputs_)
    rows.push_back({output.name, sqnr_of(output.cumulative),
                    output.cumulative && !std::isfinite(output.cumulative->reference_squares),
                    adds_nonfinite(output.cumulative)});
  return rows;
}

std::vector<std::string> ActivationDamage::notes() const {
  std::map<std::string, std::vector<std::string>> tensors;  // by layout
  for (std::size_t i = 0; i < sites_.size(); ++i)
    tensors[relayouts_->description(i)].push_back(sites_[i].activation.name);
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    tensors[relayouts_->description(sites_.size() + i)].push_back(outputs_[i].name);
  tensors.erase("");
  std::vector<std::string> notes;
  for (const auto& [layout, names] : tensors)
    notes.push_back(fmt::format("compared after {}: {}", layout, fmt::join(names, ", ")));
  return notes;
}

}  // namespace vernier
