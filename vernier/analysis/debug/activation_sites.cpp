#include "vernier/analysis/debug/activation_sites.h"

namespace vernier {
namespace {

// Operators that a quantizer may fold into the range of the quantizer behind them.
bool is_clipping_op(const std::string& op) { return op == "Relu" || op == "Clip"; }

}  // namespace

ActivationSites::ActivationSites(const Quantization& quantization,
                                 const std::vector<Counterpart>& activation_counterparts,
                                 const CounterpartFinder& counterparts) {
  for (std::size_t i = 0; i < quantization.activations.size(); ++i) {
    ActivationSite site{.activation = quantization.activations[i],
                        .counterpart = activation_counterparts[i]};
    if (!is_clipping_op(site.activation.writer_op))
      site.folded = counterparts.clip_range(site.counterpart.tensor);
    const auto range = representable_range(site.activation.quantizer);
    if (range && !site.activation.before.empty())
      site.noise = NoiseSite{*range, site.folded.value_or(ClipRange{})};
    sites_.push_back(std::move(site));
  }
  for (const std::string& output : quantization.outputs)
    sites_.push_back({.activation = {.name = output, .after = output},
                      .counterpart = counterparts.tensor(output)});
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    const QuantizedActivation& activation = sites_[i].activation;
    met_[activation.after.empty() ? activation.stored : activation.after].leaving.push_back(i);
    if (!activation.before.empty()) met_[activation.before].entering.push_back(i);
  }
}

const ActivationSites::SitesOfTensor* ActivationSites::at(std::string_view tensor) const {
  const auto found = met_.find(tensor);
  return found == met_.end() ? nullptr : &found->second;
}

std::vector<std::string> ActivationSites::tensors() const {
  std::vector<std::string> names;
  for (const auto& [name, met] : met_) names.push_back(name);
  return names;
}

RequestCounts ActivationSites::requests_after() const {
  RequestCounts wants;
  for (const ActivationSite& site : sites_)
    if (site.counterpart.match != CounterpartMatch::none) ++wants[site.counterpart.tensor];
  return wants;
}

RequestCounts ActivationSites::requests_before() const {
  RequestCounts wants;
  for (const ActivationSite& site : sites_)
    if (site.counterpart.match != CounterpartMatch::none && !site.activation.before.empty())
      ++wants[site.counterpart.tensor];
  return wants;
}

}  // namespace vernier
