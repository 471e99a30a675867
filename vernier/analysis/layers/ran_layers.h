#pragma once

#include <set>
#include <string>
#include <vector>

#include "vernier/analysis/layers/side_by_side.h"

namespace vernier {

// The layers as they ran, each once, with what was known of them before. A layer with several
// outputs is seen as "lstm.0", "lstm.1": each is a layer then.
std::vector<Layer> layers_that_ran(const std::vector<SeenLayer>& seen,
                                   const std::vector<Layer>& layers);

// The names of the layers of which nothing ran.
std::vector<std::string> idle_layers(const std::vector<Layer>& layers,
                                     const std::set<std::string>& ran);

}  // namespace vernier
