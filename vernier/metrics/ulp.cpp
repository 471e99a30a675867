#include "vernier/metrics/ulp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace vernier {
namespace {

// The elements of a float tensor as integers that count upwards through all values.
template <typename Bits, Bits infinity>
class Ladder {
 public:
  explicit Ladder(const TensorView& tensor) : data_(tensor.bytes.data()) {}

  bool is_nan(std::int64_t index) const { return (bits(index) & ~sign) > infinity; }
  std::int64_t step(std::int64_t index) const {
    const Bits value = bits(index);
    return value & sign ? -std::int64_t{static_cast<Bits>(value & ~sign)} : std::int64_t{value};
  }

 private:
  static constexpr Bits sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));

  Bits bits(std::int64_t index) const {
    Bits value;
    std::memcpy(&value, data_ + index * static_cast<std::int64_t>(sizeof(Bits)), sizeof(Bits));
    return value;
  }

  const std::byte* data_;
};

using Float32Ladder = Ladder<std::uint32_t, 0x7f800000>;
using Float16Ladder = Ladder<std::uint16_t, 0x7c00>;
using BFloat16Ladder = Ladder<std::uint16_t, 0x7f80>;

template <typename Ladder>
struct Distances {
  Ladder reference, candidate;
  std::int64_t count;

  bool any_nan() const {
    for (std::int64_t i = 0; i < count; ++i)
      if (reference.is_nan(i) || candidate.is_nan(i)) return true;
    return false;
  }
  std::uint64_t at(std::int64_t i) const {
    return static_cast<std::uint64_t>(std::abs(reference.step(i) - candidate.step(i)));
  }
  std::uint64_t max() const {
    std::uint64_t max = 0;
    for (std::int64_t i = 0; i < count; ++i) max = std::max(max, at(i));
    return max;
  }
};

// The distance of the given rank (from 0) in ascending order. Digit by digit from the top: each
// pass counts how the distances that share the digits found so far split by the next one.
template <typename Ladder>
std::uint64_t select(const Distances<Ladder>& distances, std::int64_t rank, std::uint64_t max) {
  constexpr int digit_bits = 11;
  constexpr std::uint64_t base = 1 << digit_bits;
  std::uint64_t found = 0;
  for (int shift = std::bit_width(max) / digit_bits * digit_bits; shift >= 0; shift -= digit_bits) {
    std::array<std::int64_t, base> counts{};
    for (std::int64_t i = 0; i < distances.count; ++i) {
      const std::uint64_t prefix = distances.at(i) >> shift;
      if (prefix / base == found) ++counts[prefix % base];
    }
    std::uint64_t digit = 0;
    for (; rank >= counts[digit]; ++digit) rank -= counts[digit];
    found = found * base + digit;
  }
  return found;
}

template <typename Ladder>
UlpDistance measure_distance(const TensorView& reference, const TensorView& candidate) {
  const Distances<Ladder> distances{Ladder(reference), Ladder(candidate), reference.size()};
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (distances.count == 0) return {};
  if (distances.any_nan()) return {nan, nan};
  const std::uint64_t max = distances.max();
  // ceil(0.999 * count) elements are at or below the percentile; the first rank is 0.
  const std::int64_t rank = distances.count - distances.count / 1000 - 1;
  return {static_cast<double>(max), static_cast<double>(select(distances, rank, max))};
}

}  // namespace

std::optional<UlpDistance> ulp_distance(const TensorView& reference, const TensorView& candidate) {
  if (reference.dtype != candidate.dtype || reference.size() != candidate.size())
    return std::nullopt;
  switch (reference.dtype) {
    case DType::f32: return measure_distance<Float32Ladder>(reference, candidate);
    case DType::f16: return measure_distance<Float16Ladder>(reference, candidate);
    case DType::bf16: return measure_distance<BFloat16Ladder>(reference, candidate);
    default: return std::nullopt;
  }
}

}  // namespace vernier
