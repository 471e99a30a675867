#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace vernier {

// The bit generator behind numpy's default_rng(entropy): SeedSequence, then PCG64 (XSL-RR 128/64).
// Every value equals numpy's, on every platform.
class Pcg64 {
 public:
  // `entropy` is the list given to default_rng; a number beyond 32 bits counts as two words.
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

}  // namespace vernier
