#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace vernier {

// The bit generator behind numpy's default_rng(entropy): SeedSequence, then PCG64 (XSL-RR 128/64).
// Every value equals numpy's, on every platform.
class Pcg64 {
 public:
  // `entropy` is the list given to default_rng; a number above 32 bits counts as two words.
  explicit Pcg64(std::span<const std::uint64_t> entropy);

  std::uint64_t next_u64();
  std::uint32_t next_u32();  // the low half of a 64-bit draw, then its high half
  double next_f64();         // [0, 1), 53 bits
  float next_f32();          // [0, 1), 24 bits

 private:
  __extension__ using Word128 = unsigned __int128;
  Word128 state_ = 0;
  Word128 increment_ = 0;
  std::optional<std::uint32_t> high_half_;
};

// numpy's random.Generator: each method returns the values of the numpy method of that name, bit
// for bit (the streams have not changed since numpy 1.18).
class NumpyRandom {
 public:
  explicit NumpyRandom(std::span<const std::uint64_t> entropy) : bits_(entropy) {}

  // T is float or double: random(count, dtype=T), standard_normal(count, dtype=T).
  template <typename T>
  std::vector<T> random(std::int64_t count);
  template <typename T>
  std::vector<T> standard_normal(std::int64_t count);

  // T is a signed or unsigned integer of 8 to 64 bits: integers(low, last, count, dtype=T,
  // endpoint=True), so that the full range of T can be drawn. Requires low <= last.
  template <typename T>
  std::vector<T> integers(T low, T last, std::int64_t count);
  // integers(0, 2, count, dtype=bool), one byte each.
  std::vector<std::uint8_t> booleans(std::int64_t count);

  // permutation(count): the numbers 0 to count - 1, shuffled.
  std::vector<std::int64_t> permutation(std::int64_t count);

 private:
  Pcg64 bits_;
};

}  // namespace vernier
