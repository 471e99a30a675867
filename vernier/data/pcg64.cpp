#include "vernier/data/pcg64.h"

#include <array>
#include <bit>
#include <vector>

namespace vernier {
namespace {

using Pool = std::array<std::uint32_t, 4>;

std::uint32_t fold(std::uint32_t value) { return value ^ (value >> 16); }

// One of SeedSequence's two hashes: a running constant that each call multiplies on.
class Hash {
 public:
  Hash(std::uint32_t start, std::uint32_t factor) : constant_(start), factor_(factor) {}
  std::uint32_t operator()(std::uint32_t value) {
    value ^= constant_;
    constant_ *= factor_;
    return fold(value * constant_);
  }

 private:
  std::uint32_t constant_;
  std::uint32_t factor_;
};

std::uint32_t mix(std::uint32_t left, std::uint32_t right) {
  return fold(0xca01f9ddu * left - 0x4973f715u * right);
}

std::vector<std::uint32_t> words_of(std::span<const std::uint64_t> entropy) {
  std::vector<std::uint32_t> words;
  for (const std::uint64_t number : entropy) {
    words.push_back(static_cast<std::uint32_t>(number));
    if (number >> 32) words.push_back(static_cast<std::uint32_t>(number >> 32));
  }
  return words;
}

Pool seed_pool(std::span<const std::uint64_t> entropy) {
  const std::vector<std::uint32_t> words = words_of(entropy);
  Hash hash(0x43b0d7e5u, 0x931e8875u);
  Pool pool{};
  for (std::size_t i = 0; i < pool.size(); ++i) pool[i] = hash(i < words.size() ? words[i] : 0);
  for (std::size_t from = 0; from < pool.size(); ++from)
    for (std::size_t to = 0; to < pool.size(); ++to)
      if (from != to) pool[to] = mix(pool[to], hash(pool[from]));
  for (std::size_t from = pool.size(); from < words.size(); ++from)
    for (std::uint32_t& word : pool) word = mix(word, hash(words[from]));
  return pool;
}

std::array<std::uint64_t, 4> generate_state(const Pool& pool) {
  Hash hash(0x8b51f9ddu, 0x58f38dedu);
  std::array<std::uint64_t, 4> state{};
  for (std::size_t i = 0; i < 8; ++i)
    state[i / 2] |= static_cast<std::uint64_t>(hash(pool[i % 4])) << (32 * (i % 2));
  return state;
}

}  // namespace

Pcg64::Pcg64(std::span<const std::uint64_t> entropy) {
  const auto seed = generate_state(seed_pool(entropy));
  increment_ = ((static_cast<Word128>(seed[2]) << 64 | seed[3]) << 1) | 1;
  state_ = increment_ + (static_cast<Word128>(seed[0]) << 64 | seed[1]);
  next_u64();
}

std::uint64_t Pcg64::next_u64() {
  constexpr Word128 multiplier =
      static_cast<Word128>(0x2360ed051fc65da4u) << 64 | 0x4385df649fccf645u;
  state_ = state_ * multiplier + increment_;
  const auto high = static_cast<std::uint64_t>(state_ >> 64);
  return std::rotr(high ^ static_cast<std::uint64_t>(state_), static_cast<int>(high >> 58));
}

std::uint32_t Pcg64::next_u32() {
  if (high_half_) {
    const std::uint32_t half = *high_half_;
    high_half_.reset();
    return half;
  }
  const std::uint64_t whole = next_u64();
  high_half_ = static_cast<std::uint32_t>(whole >> 32);
  return static_cast<std::uint32_t>(whole);
}

double Pcg64::next_f64() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }
float Pcg64::next_f32() { return static_cast<float>(next_u32() >> 8) * 0x1p-24f; }

}  // namespace vernier
