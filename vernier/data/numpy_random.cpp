#include "vernier/data/numpy_random.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "vernier/data/ziggurat_table.h"

namespace vernier {
namespace {

// 8- and 16-bit draws are cut from one 32-bit draw, low part first.
template <typename Narrow>
class NarrowDraws {
 public:
  explicit NarrowDraws(Pcg64& bits) : bits_(bits) {}
  Narrow operator()() {
    if (left_ == 0) {
      word_ = bits_.next_u32();
      left_ = sizeof(word_) / sizeof(Narrow);
    } else {
      word_ >>= 8 * sizeof(Narrow);
    }
    --left_;
    return static_cast<Narrow>(word_);
  }

 private:
  Pcg64& bits_;
  std::uint32_t word_ = 0;
  std::size_t left_ = 0;
};

__extension__ using Word128 = unsigned __int128;
template <typename Word>
using Wider = std::conditional_t<sizeof(Word) == 8, Word128, std::uint64_t>;

// A number in [0, last] by Lemire's multiply-and-reject; `last` is below the largest Word.
template <typename Word, typename Draw>
Word bounded(Word last, Draw&& draw) {
  const auto count = static_cast<Wider<Word>>(last) + 1;
  auto product = static_cast<Wider<Word>>(draw()) * count;
  if (static_cast<Word>(product) < count) {
    const auto threshold = (std::numeric_limits<Word>::max() - last) % count;
    while (static_cast<Word>(product) < threshold)
      product = static_cast<Wider<Word>>(draw()) * count;
  }
  return static_cast<Word>(product >> (8 * sizeof(Word)));
}

template <typename Word, typename Draw>
Word bounded_or_whole(Word last, Draw&& draw) {
  return last == std::numeric_limits<Word>::max() ? draw() : bounded<Word>(last, draw);
}

// A number in [0, last] as numpy draws it for 32- and 64-bit types: from 32 bits if they suffice.
std::uint64_t bounded_wide(std::uint64_t last, Pcg64& bits) {
  if (last == 0) return 0;
  if (last <= std::numeric_limits<std::uint32_t>::max())
    return bounded_or_whole<std::uint32_t>(static_cast<std::uint32_t>(last),
                                           [&] { return bits.next_u32(); });
  return bounded_or_whole<std::uint64_t>(last, [&] { return bits.next_u64(); });
}

// A number in [0, last], with `last` above 0, as numpy's shuffle draws it: masked to the bits of
// `last`, then rejected if above `last`.
std::uint64_t masked(std::uint64_t last, Pcg64& bits) {
  const bool narrow = last <= std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t mask = ~std::uint64_t{0} >> std::countl_zero(last);
  for (;;) {
    const std::uint64_t value = (narrow ? bits.next_u32() : bits.next_u64()) & mask;
    if (value <= last) return value;
  }
}

// The parameters of the ziggurat algorithm for float and double.
template <typename T>
struct Ziggurat;

template <>
struct Ziggurat<double> {
  using Word = std::uint64_t;
  static Word draw(Pcg64& bits) { return bits.next_u64(); }
  static double uniform(Pcg64& bits) { return bits.next_f64(); }
  static Word magnitude(Word word) { return (word >> 9) & 0xfffffffffffffu; }
  static Word inside(const ZigguratStrip& strip) { return strip.inside; }
  static double width(const ZigguratStrip& strip) { return strip.width; }
};

// Magnitudes have 23 bits instead of 52.
template <>
struct Ziggurat<float> {
  using Word = std::uint32_t;
  static Word draw(Pcg64& bits) { return bits.next_u32(); }
  static float uniform(Pcg64& bits) { return bits.next_f32(); }
  static Word magnitude(Word word) { return (word >> 9) & 0x7fffffu; }
  static Word inside(const ZigguratStrip& strip) {
    return static_cast<Word>((strip.inside + (std::uint64_t{1} << 28)) >> 29);
  }
  static float width(const ZigguratStrip& strip) {
    return static_cast<float>(strip.width * 0x1p29);
  }
};

// A value beyond the last strip, by Marsaglia's method.
template <typename T>
T normal_tail(bool negative, Pcg64& bits) {
  for (;;) {
    const T x = -static_cast<T>(ziggurat_inverse_tail) * std::log1p(-Ziggurat<T>::uniform(bits));
    const T y = -std::log1p(-Ziggurat<T>::uniform(bits));
    if (y + y > x * x) {
      const T value = static_cast<T>(ziggurat_tail) + x;
      return negative ? -value : value;
    }
  }
}

template <typename T>
T next_normal(Pcg64& bits) {
  using Precision = Ziggurat<T>;
  for (;;) {
    const auto word = Precision::draw(bits);
    const std::size_t index = word & 0xff;
    const auto magnitude = Precision::magnitude(word);
    const ZigguratStrip& strip = ziggurat_table[index];
    const T distance = static_cast<T>(magnitude) * Precision::width(strip);
    const T value = word & 0x100 ? -distance : distance;
    if (magnitude < Precision::inside(strip)) return value;
    if (index == 0) return normal_tail<T>(magnitude & 0x100, bits);
    const T low = static_cast<T>(strip.height);
    const T high = static_cast<T>(ziggurat_table[index - 1].height);
    const double density = std::exp(-0.5 * value * value);
    if ((high - low) * Precision::uniform(bits) + low < density) return value;
  }
}

using Pool = std::array<std::uint32_t, 4>;

std::uint32_t fold(std::uint32_t value) { return value ^ (value >> 16); }

// One of SeedSequence's two hashes; each call multiplies its constant by the factor.
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

template <typename T>
std::vector<T> NumpyRandom::random(std::int64_t count) {
  std::vector<T> values(count);
  for (T& value : values) value = Ziggurat<T>::uniform(bits_);
  return values;
}

template <typename T>
std::vector<T> NumpyRandom::standard_normal(std::int64_t count) {
  std::vector<T> values(count);
  for (T& value : values) value = next_normal<T>(bits_);
  return values;
}

template <typename T>
std::vector<T> NumpyRandom::integers(T low, T last, std::int64_t count) {
  using Word = std::make_unsigned_t<T>;
  const auto offset = static_cast<Word>(low);
  const auto range = static_cast<Word>(static_cast<Word>(last) - offset);
  std::vector<T> values(count, low);
  if (range == 0) return values;
  if constexpr (sizeof(T) < 4) {
    NarrowDraws<Word> draw(bits_);
    for (T& value : values) value = static_cast<T>(offset + bounded_or_whole<Word>(range, draw));
  } else {
    for (T& value : values) value = static_cast<T>(offset + bounded_wide(range, bits_));
  }
  return values;
}

std::vector<std::uint8_t> NumpyRandom::booleans(std::int64_t count) {
  std::vector<std::uint8_t> values(count);
  std::uint32_t word = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    word = i % 32 == 0 ? bits_.next_u32() : word >> 1;
    values[i] = word & 1;
  }
  return values;
}

std::vector<std::int64_t> NumpyRandom::permutation(std::int64_t count) {
  std::vector<std::int64_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  for (std::int64_t i = count - 1; i > 0; --i) std::swap(values[i], values[masked(i, bits_)]);
  return values;
}

template std::vector<float> NumpyRandom::random(std::int64_t);
template std::vector<double> NumpyRandom::random(std::int64_t);
template std::vector<float> NumpyRandom::standard_normal(std::int64_t);
template std::vector<double> NumpyRandom::standard_normal(std::int64_t);
template std::vector<std::int8_t> NumpyRandom::integers(std::int8_t, std::int8_t, std::int64_t);
template std::vector<std::int16_t> NumpyRandom::integers(std::int16_t, std::int16_t, std::int64_t);
template std::vector<std::int32_t> NumpyRandom::integers(std::int32_t, std::int32_t, std::int64_t);
template std::vector<std::int64_t> NumpyRandom::integers(std::int64_t, std::int64_t, std::int64_t);
template std::vector<std::uint8_t> NumpyRandom::integers(std::uint8_t, std::uint8_t, std::int64_t);
template std::vector<std::uint16_t> NumpyRandom::integers(std::uint16_t, std::uint16_t,
                                                          std::int64_t);
template std::vector<std::uint32_t> NumpyRandom::integers(std::uint32_t, std::uint32_t,
                                                          std::int64_t);
template std::vector<std::uint64_t> NumpyRandom::integers(std::uint64_t, std::uint64_t,
                                                          std::int64_t);

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
