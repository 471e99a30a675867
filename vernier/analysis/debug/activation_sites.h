#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/debug/quantization_noise.h"
#include "vernier/analysis/pairing/counterpart.h"
#include "vernier/analysis/pairing/lockstep.h"
#include "vernier/model/edit.h"

namespace vernier {

// A tensor of the quantized model that is judged: an activation with its quantizer, or an output of
// a quantized operator.
struct ActivationSite {
  QuantizedActivation activation;
  Counterpart counterpart;
  std::optional<ClipRange>
      folded;  // a Relu or Clip that the quantized model leaves to the quantizer
  std::optional<NoiseSite> noise;  // where what goes into a quantizer of one scale can be seen
  bool paired = false;  // what goes into its quantizer is shown together with what comes out of it
};

// All of them, and the tensors at which they are met.
class ActivationSites {
 public:
  // `activation_counterparts` are those of the quantization's activations, in their order.
  ActivationSites(const Quantization& quantization,
                  const std::vector<Counterpart>& activation_counterparts,
                  const CounterpartFinder& counterparts);

  std::size_t size() const { return sites_.size(); }
  const ActivationSite& operator[](std::size_t site) const { return sites_[site]; }

  // The sites whose quantizers a tensor of the quantized model goes into, and those it comes out
  // of.
  struct SitesOfTensor {
    std::vector<std::size_t> entering, leaving;
  };
  const SitesOfTensor* at(std::string_view tensor) const;
  std::vector<std::string> tensors() const;

  // What goes into a quantizer and could be shown together with what comes out: where nothing else
  // reads it, that is where a change of the latter reaches all that a change of the former would.
  // Not what comes out of another quantizer, which is shown there.
  PairedTensors pairs() const;
  void set_paired(const PairedTensors& pairs);

  // How often each tensor of the float model is asked for when sites are compared as they leave
  // their quantizers, or as they enter them.
  RequestCounts requests_after() const;
  RequestCounts requests_before() const;

 private:
  std::vector<ActivationSite> sites_;
  NameMap<SitesOfTensor> met_;
};

}  // namespace vernier
