#include "vernier/metrics/ulp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "vernier/metrics/non_finite.h"

namespace vernier {
namespace {

// Above the distance between the infinities of every format here.
constexpr std::uint32_t nan_distance = 0xffffffff;

// The distance of two bit patterns: the difference of their positions in the sorted sequence of all
// values of the format. Without branches, so that a loop over it vectorizes.
template <typename Bits, Bits infinity>
std::uint32_t distance(Bits reference, Bits candidate) {
  constexpr auto sign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const auto magnitude = [](Bits bits) { return static_cast<std::int32_t>(bits & ~sign); };
  const auto step = [&](Bits bits) { return bits & sign ? -magnitude(bits) : magnitude(bits); };
  const auto high = static_cast<std::uint32_t>(std::max(step(reference), step(candidate)));
  const auto low = static_cast<std::uint32_t>(std::min(step(reference), step(candidate)));
  const bool is_nan = std::max(magnitude(reference), magnitude(candidate)) > std::int32_t{infinity};
  return is_nan ? nan_distance : high - low;
}

// The distances of a pair, a block at a time.
template <typename Bits, Bits infinity>
class Distances {
 public:
  Distances(const TensorView& reference, const TensorView& candidate)
      : reference_(reference), candidate_(candidate), count_(reference.size()) {}

  std::int64_t count() const { return count_; }

  template <typename Visit>
  void for_each_block(Visit visit) const {
    std::array<std::uint32_t, block_size> block;
    for (std::int64_t begin = 0; begin < count_; begin += block_size) {
      const std::span part(block.data(), std::min<std::int64_t>(block_size, count_ - begin));
      fill(part, begin);
      visit(std::span<const std::uint32_t>(part));
    }
  }

 private:
  static constexpr std::int64_t block_size = 2048;

  void fill(std::span<std::uint32_t> out, std::int64_t begin) const {
    const auto* reference = reference_.bytes.data() + begin * static_cast<int>(sizeof(Bits));
    const auto* candidate = candidate_.bytes.data() + begin * static_cast<int>(sizeof(Bits));
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = distance<Bits, infinity>(load(reference, i), load(candidate, i));
  }

  // Tensors may be unaligned, so elements are copied.
  static Bits load(const std::byte* data, std::size_t index) {
    Bits bits;
    std::memcpy(&bits, data + index * sizeof(Bits), sizeof(Bits));
    return bits;
  }

  const TensorView& reference_;
  const TensorView& candidate_;
  std::int64_t count_;
};

template <typename Distances>
std::uint32_t max_distance(const Distances& distances) {
  std::uint32_t max = 0;
  distances.for_each_block([&](std::span<const std::uint32_t> block) {
    max = std::max(max, *std::ranges::max_element(block));
  });
  return max;
}

// The distance of the given rank (from 0) in ascending order, found digit by digit from the
// highest: each pass counts the next digit of those distances that share the digits found so far.
template <typename Distances>
std::uint64_t select(const Distances& distances, std::int64_t rank, std::uint32_t max) {
  constexpr int digit_bits = 11;
  constexpr std::uint64_t base = 1 << digit_bits;
  std::uint64_t found = 0;
  for (int shift = std::bit_width(max) / digit_bits * digit_bits; shift >= 0; shift -= digit_bits) {
    std::array<std::int64_t, base> counts{};
    distances.for_each_block([&](std::span<const std::uint32_t> block) {
      for (const std::uint64_t value : block)
        if (value >> shift >> digit_bits == found) ++counts[(value >> shift) % base];
    });
    std::uint64_t digit = 0;
    for (; rank >= counts[digit]; ++digit) rank -= counts[digit];
    found = found * base + digit;
  }
  return found;
}

template <typename Bits, Bits infinity>
UlpDistance measure_distance(const TensorView& reference, const TensorView& candidate) {
  const Distances<Bits, infinity> distances(reference, candidate);
  const std::int64_t count = distances.count();
  if (count == 0) return {};
  const std::uint32_t max = max_distance(distances);
  if (max == nan_distance) return {nan, nan};
  // ceil(0.999 * count) elements are at or below the percentile; the first rank is 0.
  const std::int64_t rank = count - count / 1000 - 1;
  return {static_cast<double>(max), static_cast<double>(select(distances, rank, max))};
}

}  // namespace

std::optional<UlpDistance> ulp_distance(const TensorView& reference, const TensorView& candidate) {
  if (reference.dtype != candidate.dtype || reference.size() != candidate.size())
    return std::nullopt;
  switch (reference.dtype) {
    case DType::f32: return measure_distance<std::uint32_t, 0x7f800000>(reference, candidate);
    case DType::f16: return measure_distance<std::uint16_t, 0x7c00>(reference, candidate);
    case DType::bf16: return measure_distance<std::uint16_t, 0x7f80>(reference, candidate);
    default: return std::nullopt;
  }
}

}  // namespace vernier
