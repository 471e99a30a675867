#pragma once

#include <vector>

#include "vernier/analysis/layers/attributes.h"

namespace vernier {

// Attributes of the region's nodes that differ from the settings of the PyTorch module or operator:
// the mode of a resize, padding or grid sample, align_corners, the dilation, stride and padding of
// a convolution or pooling, the axis of a softmax of this rank...
std::vector<OtherAttribute> differing_settings(const Region& region, const WatchedTensor& leaf,
                                               std::size_t rank);

}  // namespace vernier
