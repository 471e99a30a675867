#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/debug/float_twin.h"
#include "vernier/analysis/lockstep.h"
#include "vernier/model/edit.h"

namespace vernier {

// A tensor of the quantized model that is judged: an activation with its grid, or an output of a
// quantized operator.
struct ActivationSite {
  QuantizedActivation activation;
  Twin twin;
  std::optional<ClipRange> folded;  // a Relu or Clip that the quantized model leaves to the grid
  std::optional<NoiseSite> noise;   // where what goes into a grid of one scale can be seen
  bool paired = false;  // what goes into its grid is shown together with what comes out of it
};

// All of them, and the tensors at which they are met.
class ActivationSites {
 public:
  // `activation_twins` are those of the quantization's activations, in their order.
  ActivationSites(const Quantization& quantization, const std::vector<Twin>& activation_twins,
                  const TwinFinder& twins);

  std::size_t size() const { return sites_.size(); }
  const ActivationSite& operator[](std::size_t site) const { return sites_[site]; }

  // The sites whose grids a tensor of the quantized model goes into, and those it comes out of.
  struct Met {
    std::vector<std::size_t> entering, leaving;
  };
  const Met* at(std::string_view tensor) const;
  std::vector<std::string> tensors() const;

  // What goes into a grid and could be shown together with what comes out: where nothing else reads
  // it, that is where a change of the latter reaches all that a change of the former would. Not
  // what comes out of another grid, which is shown there.
  Beside pairs() const;
  void set_paired(const Beside& pairs);

  // How often each tensor of the float model is asked for when sites are compared as they leave
  // their grids, or as they enter them.
  Wants wants_leaving() const;
  Wants wants_entering() const;

 private:
  std::vector<ActivationSite> sites_;
  NameMap<Met> met_;
};

}  // namespace vernier
