#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vernier/data/pcg64.h"

namespace vernier {

// numpy's random.Generator: each method gives the values of its numpy namesake, bit for bit (tested
// against numpy 1.24; the streams have not changed since 1.18).
class NumpyRandom {
 public:
  explicit NumpyRandom(std::span<const std::uint64_t> entropy) : bits_(entropy) {}

  // T is float or double: random(count, dtype=T), standard_normal(count, dtype=T).
  template <typename T>
  std::vector<T> random(std::int64_t count);
  template <typename T>
  std::vector<T> standard_normal(std::int64_t count);

  // T is a signed or unsigned integer of 8 to 64 bits: integers(low, last, count, dtype=T,
  // endpoint=True), so that the full range of T can be asked for. Needs low <= last.
  template <typename T>
  std::vector<T> integers(T low, T last, std::int64_t count);
  // integers(0, 2, count, dtype=bool), one byte each.
  std::vector<std::uint8_t> booleans(std::int64_t count);

  // permutation(count): the numbers from 0, shuffled.
  std::vector<std::int64_t> permutation(std::int64_t count);

 private:
  Pcg64 bits_;
};

}  // namespace vernier
