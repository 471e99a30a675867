#include "vernier/analysis/debug/sample_damage.h"

#include <algorithm>
#include <utility>

#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

Tensor clamp(const TensorView& tensor, const ClipRange& range) {
  Tensor clamped = convert(tensor, DType::f32);
  for (float& value : elements<float>(clamped))
    value = static_cast<float>(std::clamp<double>(value, range.low, range.high));
  return clamped;
}

}  // namespace

void add_to(std::optional<NoiseSums>& total, const std::optional<NoiseSums>& more) {
  if (more) total = total ? pool(*total, *more) : more;
}

const Tensor* Relayouts::operator()(std::size_t pair, const Tensor& reference,
                                    const TensorView& candidate, Tensor& relaid) {
  if (std::ranges::equal(reference.shape, candidate.shape)) return &reference;
  const std::lock_guard lock(mutex_);
  const Tensor* found = relayouts_[pair](reference, candidate);
  if (!found || found == &reference) return found;
  relaid = *found;
  return &relaid;
}

void Histograms::add(std::size_t site, std::span<const float> values, const NoiseSite& noise,
                     std::int64_t sample, const SeenValues& seen) {
  const std::lock_guard lock(sites_[site].mutex);
  sites_[site].histogram.add(values, sample, size_of(seen), noise.folded);
}

SampleMeasurement::SampleMeasurement(const ActivationSites& sites, Histograms& histograms,
                                     Relayouts& relayouts, SpareBuffers* spare, std::int64_t sample)
    : sites_(sites),
      histograms_(histograms),
      relayouts_(relayouts),
      spare_(spare),
      sample_(sample),
      met_(sites.size()),
      held_(sites.size()) {
  damage_.sites.resize(sites.size());
}

void SampleMeasurement::observe(const TensorView& tensor, const TakeReference& take) {
  const ActivationSites::SitesOfTensor* met = sites_.at(tensor.name);
  if (!met) return;
  if (!met->entering.empty()) enter(met->entering, tensor);
  for (const std::size_t site : met->leaving) leave(site, tensor, take);
}

void SampleMeasurement::enter(const std::vector<std::size_t>& sites, const TensorView& before) {
  std::vector<float> widened;
  if (before.dtype != DType::f32) widened = to_f32(before);
  const std::span<const float> values =
      before.dtype == DType::f32 ? elements<float>(before) : std::span<const float>(widened);
  for (const std::size_t site : sites) {
    const auto& noise = sites_[site].noise;
    if (!noise) continue;
    const SeenValues seen = observe_values(values, noise->quantizer);
    histograms_.add(site, values, *noise, sample_, seen);
    damage_.sites[site].seen = pool(damage_.sites[site].seen, seen);
  }
  Held& held = held_[sites.front()];
  held.uses = static_cast<int>(sites.size());
  held.view = before;
  if (!sites_[sites.front()].paired) hold(held, before);
}

void SampleMeasurement::hold(Held& held, const TensorView& before) {
  if (held.tensor.bytes.empty() && spare_ && !spare_->empty()) {
    held.tensor.bytes = std::move(spare_->back());
    spare_->pop_back();
  }
  held.tensor.dtype = before.dtype;
  held.tensor.shape.assign(before.shape.begin(), before.shape.end());
  held.tensor.bytes.assign(before.bytes.begin(), before.bytes.end());
  held.view = held.tensor;
}

void SampleMeasurement::leave(std::size_t site, const TensorView& tensor,
                              const TakeReference& take) {
  const auto& [activation, counterpart, folded, noise, paired] = sites_[site];
  if (!met_[site]) damage_.order.push_back(site);
  met_[site] = true;
  Tensor real;
  TensorView after = tensor;
  if (activation.after.empty()) {
    real = dequantize(tensor, activation.quantizer);
    after = real;
  }
  compare_local(site, after);
  const Tensor* reference = counterpart ? take(counterpart.tensor) : nullptr;
  if (!reference) return;
  reference = relayouts_(site, *reference, after, relaid_);
  if (reference) add_to(damage_.sites[site].cumulative, measure_noise(*reference, after));
}

void SampleMeasurement::compare_local(std::size_t site, const TensorView& after) {
  SiteDamage& damage = damage_.sites[site];
  const std::string& before = sites_[site].activation.before;
  if (before.empty()) return add_to(damage.stored, measure_noise(after, after));
  auto& [view, tensor, uses] = held_[sites_.at(before)->entering.front()];
  if (uses == 0) return;
  if (view.size() == after.size()) {
    add_to(damage.local, measure_noise(view, after));
    if (const auto& folded = sites_[site].folded)
      add_to(damage.intended, measure_noise(clamp(view, *folded), after));
  }
  if (--uses > 0) return;
  std::vector<std::byte> buffer = std::exchange(tensor.bytes, {});
  if (spare_ && !buffer.empty()) spare_->push_back(std::move(buffer));
}

}  // namespace vernier
