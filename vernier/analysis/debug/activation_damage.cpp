#include "vernier/analysis/debug/activation_damage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "vernier/analysis/rewriting_runner.h"
#include "vernier/metrics/similarity.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

void add_to(std::optional<PairSums>& total, const PairSums& sample) {
  total = total ? pool(*total, sample) : sample;
}

std::optional<double> sqnr_of(const std::optional<PairSums>& sums) {
  return sums ? std::optional(similarity(*sums).sqnr_db) : std::nullopt;
}

// Rounding to a grid of this step is noise of step^2 / 12 an element.
std::optional<double> estimated_sqnr_db(const PairSums& stored, const QuantizationGrid& grid) {
  const auto range = representable_range(grid);
  if (!range || stored.count == 0) return std::nullopt;
  const double noise = static_cast<double>(stored.count) * range->step * range->step / 12;
  return 10 * std::log10(stored.reference_squares / noise);
}

// Operators that a quantizer may fold into the range of the grid behind them.
bool is_clipping_op(const std::string& op) { return op == "Relu" || op == "Clip"; }

Tensor clamp(const TensorView& tensor, const ClipRange& range) {
  Tensor clamped = convert(tensor, DType::f32);
  for (float& value : elements<float>(clamped))
    value = static_cast<float>(std::clamp<double>(value, range.low, range.high));
  return clamped;
}

const Tensor* find_tensor(const std::vector<Tensor>& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

}  // namespace

ActivationDamage::ActivationDamage(const Model& float_model, const Model& quantized_model,
                                   const Quantization& quantization,
                                   const std::vector<Twin>& activation_twins,
                                   const TwinFinder& twins, const OrtOptions& runtime)
    : twins_(twins), runtime_(runtime) {
  add_sites(quantization, activation_twins);
  std::set<std::string> inputs, watched, float_watched;
  for (const TensorSpec& input : quantized_model.inputs()) inputs.insert(input.name);
  for (const auto* tensors : {&entering_, &leaving_})
    for (const auto& [tensor, site] : *tensors)
      if (!inputs.contains(tensor)) watched.insert(tensor);
  for (const Site& site : sites_) {
    if (site.twin.match == TwinMatch::none || twins.is_input(site.twin.tensor)) continue;
    float_watched.insert(site.twin.tensor);
    ++lockstep_.wants[site.twin.tensor];
  }
  quantized_runner_ = open_watching(quantized_model, {watched.begin(), watched.end()});
  float_runner_ = open_watching(float_model, {float_watched.begin(), float_watched.end()});
  bindings_ = bind_inputs(quantized_runner_->inputs(), float_runner_->inputs());
}

std::unique_ptr<OrtRunner> ActivationDamage::open_watching(const Model& model,
                                                           std::vector<std::string> tensors) const {
  OrtOptions options = runtime_;
  options.watch = Watch::only(std::move(tensors));
  return std::make_unique<OrtRunner>(model.clone(), options);
}

void ActivationDamage::add_sites(const Quantization& quantization,
                                 const std::vector<Twin>& activation_twins) {
  for (std::size_t i = 0; i < quantization.activations.size(); ++i) {
    const QuantizedActivation& activation = quantization.activations[i];
    Site site{.activation = activation, .twin = activation_twins[i]};
    if (!is_clipping_op(activation.writer_op)) site.folded = twins_.clip_range(site.twin.tensor);
    const auto range = representable_range(activation.grid);
    if (range && !activation.before.empty())
      site.noise.emplace(*range, site.folded.value_or(ClipRange{}));
    sites_.push_back(std::move(site));
  }
  for (const std::string& output : quantization.outputs)
    sites_.push_back(
        {.activation = {.name = output, .after = output}, .twin = twins_.tensor(output)});
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    const QuantizedActivation& activation = sites_[i].activation;
    if (!activation.before.empty()) entering_.emplace(activation.before, i);
    leaving_.emplace(activation.after.empty() ? activation.stored : activation.after, i);
  }
}

void ActivationDamage::add(const std::vector<Tensor>& sample) {
  start_sample(sample);
  add_outputs(run_lockstep(
      *float_runner_, float_inputs_, *quantized_runner_, sample,
      [&](const TensorView& tensor, const TakeReference& take) { observe(tensor, take); },
      lockstep_));
}

// Inputs go into grids too, but no node produces them.
void ActivationDamage::start_sample(const std::vector<Tensor>& sample) {
  float_inputs_ = apply_bindings(bindings_, float_runner_->inputs(), sample);
  held_.clear();
  for (std::size_t i = 0; i < sample.size(); ++i) {
    Tensor input = sample[i];
    input.name = quantized_runner_->inputs()[i].name;
    enter(input);
  }
}

void ActivationDamage::enter(const TensorView& before) {
  const auto [first, last] = entering_.equal_range(std::string(before.name));
  if (first == last) return;
  for (auto site = first; site != last; ++site)
    if (auto& noise = sites_[site->second].noise) noise->add(before);
  held_[first->first] = {copy(before), static_cast<int>(std::distance(first, last))};
}

void ActivationDamage::observe(const TensorView& tensor, const TakeReference& take) {
  enter(tensor);
  const auto [first, last] = leaving_.equal_range(std::string(tensor.name));
  for (auto site = first; site != last; ++site) leave(sites_[site->second], tensor, take);
}

// The site's float twin in the layout of `like`, which is what the quantized model has there.
const Tensor* ActivationDamage::float_tensor(Site& site, const TensorView& like,
                                             const TakeReference& take) {
  const std::string& name = site.twin.tensor;
  if (site.twin.match == TwinMatch::none) return nullptr;
  const Tensor* twin = twins_.is_input(name) ? find_tensor(float_inputs_, name) : take(name);
  return twin ? site.relayout(*twin, like) : nullptr;
}

void ActivationDamage::leave(Site& site, const TensorView& tensor, const TakeReference& take) {
  if (site.order < 0) site.order = produced_++;
  Tensor real;
  TensorView after = tensor;
  if (site.activation.after.empty()) {
    real = dequantize(tensor, site.activation.grid);
    after = real;
  }
  if (const auto held = held_.find(site.activation.before); held != held_.end()) {
    if (held->second.tensor.size() == after.size()) {
      add_to(site.local, measure(held->second.tensor, after));
      if (site.folded)
        add_to(site.intended, measure(clamp(held->second.tensor, *site.folded), after));
    }
    if (--held->second.uses == 0) held_.erase(held);
  } else if (site.activation.before.empty()) {
    site.stored = pool(site.stored, measure(after, after));
  }
  if (const Tensor* twin = float_tensor(site, after, take))
    add_to(site.cumulative, measure(*twin, after));
}

void ActivationDamage::add_outputs(const LockstepOutputs& outputs) {
  if (outputs_.empty())
    for (const Tensor& output : outputs.candidate) outputs_.push_back({.name = output.name});
  for (std::size_t i = 0; i < outputs.candidate.size(); ++i) {
    const Tensor* twin = find_tensor(outputs.reference, outputs.candidate[i].name);
    if (!twin && outputs.reference.size() == outputs.candidate.size()) twin = &outputs.reference[i];
    if (twin) twin = outputs_[i].relayout(*twin, outputs.candidate[i]);
    if (twin) add_to(outputs_[i].cumulative, measure(*twin, outputs.candidate[i]));
  }
}

void ActivationDamage::add_introduced(const std::vector<Tensor>& sample) {
  LockstepOptions options;
  for (const auto& [tensor, index] : entering_)
    if (const Twin& twin = sites_[index].twin;
        twin.match != TwinMatch::none && !twins_.is_input(twin.tensor))
      ++options.wants[twin.tensor];
  RewritingRunner rewriting(*quantized_runner_);
  float_inputs_ = apply_bindings(bindings_, float_runner_->inputs(), sample);
  run_lockstep(
      *float_runner_, float_inputs_, rewriting, sample,
      [&](const TensorView& tensor, const TakeReference& take) {
        rebase(tensor, take, rewriting.bytes());
      },
      options);
}

// The tensor is what the node made of float inputs: it is measured as its grid leaves it, and then
// replaced by the float model's, on which the next nodes work.
void ActivationDamage::rebase(const TensorView& tensor, const TakeReference& take,
                              std::span<std::byte> bytes) {
  const auto [first, last] = entering_.equal_range(std::string(tensor.name));
  std::vector<std::byte> replacement;
  for (auto entry = first; entry != last; ++entry) {
    Site& site = sites_[entry->second];
    const Tensor* twin = float_tensor(site, tensor, take);
    if (!twin) continue;
    add_to(site.introduced, measure(*twin, fake_quantize(tensor, site.activation.grid)));
    if (twin->dtype == tensor.dtype) replacement = twin->bytes;
  }
  if (replacement.size() == bytes.size() && !bytes.empty())
    std::memcpy(bytes.data(), replacement.data(), bytes.size());
}

std::vector<DebugActivation> ActivationDamage::activations() const {
  std::vector<const Site*> ordered;
  for (const Site& site : sites_) ordered.push_back(&site);
  std::ranges::stable_sort(ordered, {}, [](const Site* site) {
    return site->order < 0 ? std::numeric_limits<int>::max() : site->order;
  });
  std::vector<DebugActivation> rows;
  for (const Site* site : ordered) {
    DebugActivation row{.tensor_name = site->activation.name,
                        .local_sqnr_db = sqnr_of(site->local),
                        .intended_sqnr_db = sqnr_of(site->intended),
                        .cumulative_sqnr_db = sqnr_of(site->cumulative),
                        .twin = site->twin,
                        .node = site->activation.writer,
                        .op = site->activation.writer_op,
                        .introduced_sqnr_db = sqnr_of(site->introduced)};
    if (!site->activation.stored.empty()) row.grid = site->activation.grid;
    if (row.grid && !row.local_sqnr_db && site->stored.count > 0) {
      row.local_sqnr_db = estimated_sqnr_db(site->stored, *row.grid);
      row.local_is_estimated = row.local_sqnr_db.has_value();
    }
    if (site->noise) row.noise = site->noise->result();
    if (row.noise && site->local && site->local->difference_squares > 0)
      row.rounding_share =
          std::max(0.0, 1 - row.noise->clipping_noise / site->local->difference_squares);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<DebugOutput> ActivationDamage::outputs() const {
  std::vector<DebugOutput> rows;
  for (const Output& output : outputs_) rows.push_back({output.name, sqnr_of(output.cumulative)});
  return rows;
}

std::vector<std::string> ActivationDamage::notes() const {
  std::map<std::string, std::vector<std::string>> tensors;  // by layout
  for (const Site& site : sites_)
    tensors[site.relayout.description()].push_back(site.activation.name);
  for (const Output& output : outputs_)
    tensors[output.relayout.description()].push_back(output.name);
  tensors.erase("");
  std::vector<std::string> notes;
  for (const auto& [layout, names] : tensors)
    notes.push_back(fmt::format("compared after {}: {}", layout, fmt::join(names, ", ")));
  return notes;
}

bool ActivationDamage::any_twin() const {
  return std::ranges::any_of(sites_, [&](const Site& site) {
    return site.twin.match != TwinMatch::none && !twins_.is_input(site.twin.tensor);
  });
}

}  // namespace vernier
