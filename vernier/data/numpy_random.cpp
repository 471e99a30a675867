#include "vernier/data/numpy_random.h"

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

// A number in [0, last], last below the largest Word, by Lemire's multiply-and-reject.
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

// A number in [0, last] as numpy draws it for 32- and 64-bit types: from 32 bits where they are
// enough.
std::uint64_t bounded_wide(std::uint64_t last, Pcg64& bits) {
  if (last == 0) return 0;
  if (last <= std::numeric_limits<std::uint32_t>::max())
    return bounded_or_whole<std::uint32_t>(static_cast<std::uint32_t>(last),
                                           [&] { return bits.next_u32(); });
  return bounded_or_whole<std::uint64_t>(last, [&] { return bits.next_u64(); });
}

// A number in [0, last], last above 0, as numpy's shuffle draws it: masked to the bits of `last`,
// then rejected.
std::uint64_t masked(std::uint64_t last, Pcg64& bits) {
  const bool narrow = last <= std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t mask = ~std::uint64_t{0} >> std::countl_zero(last);
  for (;;) {
    const std::uint64_t value = (narrow ? bits.next_u32() : bits.next_u64()) & mask;
    if (value <= last) return value;
  }
}

// What the ziggurat needs to know of a precision.
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

// Beyond the last strip, by Marsaglia's method.
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

}  // namespace vernier
