#pragma once

#include <cstdint>
#include <vector>

namespace vernier {

// Which examples of a dataset are used, and in what order.
struct Selection {
  std::int64_t samples = 0;  // the first so many; 0: all
  bool shuffle = false;      // in the order of numpy's default_rng(seed).permutation(size)
  std::uint64_t seed = 42;
  bool operator==(const Selection&) const = default;
};

// Positions in a dataset of `size` examples; all of them when more are asked for.
std::vector<std::int64_t> select_positions(std::int64_t size, const Selection& selection);

}  // namespace vernier
