#pragma once

#include <span>
#include <vector>

#include "vernier/analysis/layers/align.h"

namespace vernier {

// How alike a layer and a tensor were on one sample.
struct Likeness {
  LayerPair pair;
  double sqnr_db = 0;
  bool same_shape = false;
  bool operator==(const Likeness&) const = default;
};

// Whether the layer does nothing once training is over.
bool is_no_op(const Layer& layer);

// Gives layers without a place the tensor that is most like them, if any is like them at all. A
// tensor that is more like such a layer than like the one whose name it bears was computed by both:
// the layer gets it and the other is fused, as Conv and BatchNorm are. A layer that only hands on
// what another layer's tensor holds is elided. `likenesses` are of placed and of contended pairs.
std::vector<Placement> resolve_by_value(std::span<const Layer> layers,
                                        std::vector<Placement> placements,
                                        std::span<const Likeness> likenesses);

}  // namespace vernier
