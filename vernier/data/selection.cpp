#include "vernier/data/selection.h"

#include <numeric>

#include "vernier/data/numpy_random.h"

namespace vernier {

std::vector<std::int64_t> select_positions(std::int64_t size, const Selection& selection) {
  std::vector<std::int64_t> positions(size);
  std::iota(positions.begin(), positions.end(), 0);
  if (selection.shuffle) {
    const std::uint64_t entropy[] = {selection.seed};
    positions = NumpyRandom(entropy).permutation(size);
  }
  if (selection.samples > 0 && selection.samples < size) positions.resize(selection.samples);
  return positions;
}

}  // namespace vernier
