#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/debug/activation_sites.h"
#include "vernier/analysis/relayout.h"
#include "vernier/metrics/kernels.h"

namespace vernier {

void add_to(std::optional<NoiseSums>& total, const std::optional<NoiseSums>& more);

// What one sample shows of a site.
struct SiteDamage {
  std::optional<NoiseSums> local, intended, cumulative;
  std::optional<NoiseSums> stored;  // against itself, where local can only be estimated
  SeenValues seen;                  // what went into its quantizer
};

struct OutputDamage {
  std::string name;
  std::optional<NoiseSums> cumulative;
};

struct SampleDamage {
  std::vector<SiteDamage> sites;
  std::vector<std::size_t> order;  // the sites as they were first met
  std::vector<OutputDamage> outputs;
};

// What goes into the quantizer of each site. Threads may share it.
class Histograms {
 public:
  explicit Histograms(std::size_t sites) : sites_(sites) {}

  void add(std::size_t site, std::span<const float> values, const NoiseSite& noise,
           std::int64_t sample, const SeenValues& seen);
  const ValueHistogram& operator[](std::size_t site) const { return sites_[site].histogram; }

 private:
  struct Site {
    std::mutex mutex;
    ValueHistogram histogram;
  };
  std::vector<Site> sites_;
};

// The layouts of the pairs that have different ones, as they are found. Threads may share it.
class Relayouts {
 public:
  explicit Relayouts(std::size_t pairs) : relayouts_(pairs) {}

  // The reference in the candidate's order, which may be `relaid`; null when the shapes differ and
  // no layout makes the values agree.
  const Tensor* operator()(std::size_t pair, const Tensor& reference, const TensorView& candidate,
                           Tensor& relaid);
  const std::string& description(std::size_t pair) const { return relayouts_[pair].description(); }

 private:
  std::mutex mutex_;
  std::vector<Relayout> relayouts_;
};

// Memory for tensors, from sample to sample.
using SpareBuffers = std::vector<std::vector<std::byte>>;

// Measures one sample on its way through both models.
class SampleMeasurement {
 public:
  // `sample` is its number, `spare` where it takes buffers from and leaves them, unless null. All
  // must outlive it.
  SampleMeasurement(const ActivationSites& sites, Histograms& histograms, Relayouts& relayouts,
                    SpareBuffers* spare, std::int64_t sample);

  // For each tensor of the quantized model, as it is produced.
  void observe(const ObservedTensor& tensor, const TakeReference& take);

  SampleDamage result() && { return std::move(damage_); }

 private:
  // A tensor that waits for what comes back from its quantizers.
  struct Held {
    TensorView view;  // of the tensor, or of what is shown together with what comes back
    Tensor tensor;    // without its name
    int uses = 0;
  };

  void enter(const std::vector<std::size_t>& sites, const ObservedTensor& before);
  void hold(Held& held, const TensorView& before);
  void leave(std::size_t site, const TensorView& tensor, const TakeReference& take);
  void compare_local(std::size_t site, const TensorView& after);

  const ActivationSites& sites_;
  Histograms& histograms_;
  Relayouts& relayouts_;
  SpareBuffers* spare_;
  std::int64_t sample_;
  SampleDamage damage_;
  std::vector<bool> met_;
  std::vector<Held> held_;  // by the first site that it enters
  Tensor relaid_;
};

}  // namespace vernier
