#include "vernier/metrics/pair_chunk.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/metrics/pair_chunk.cpp"
#include <hwy/foreach_target.h>  // compiles this file once more for each SIMD target
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vernier::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// In a leaf, numpy keeps eight running sums with stride 8: here two vectors of four lanes, or more
// vectors of fewer lanes. One vector of eight lanes would be slower on CPUs that split it, since
// they widen float32 with an extra shuffle.
constexpr std::size_t stride = 8;
using Tag = hn::CappedTag<double, 4>;
using Vector = hn::Vec<Tag>;

// The sums of a pass: all five, or the first two.
enum Sum { reference_squares, difference_squares, candidate_squares, products, abs_differences };
constexpr std::size_t all_sums = 5, noise_sums = 2;

constexpr std::size_t whole_vectors(std::size_t values) { return (values + 3) / 4 * 4; }

// The sums of a leaf or of a node of the pairwise tree, padded to whole vectors.
template <std::size_t sum_count>
struct alignas(32) Row {
  double sums[whole_vectors(sum_count)];
};

template <typename T>
struct Pair {
  const T* reference;
  const T* candidate;
  Pair operator+(std::size_t offset) const { return {reference + offset, candidate + offset}; }
};

HWY_INLINE Vector widen(hn::Vec<Tag> values) { return values; }
HWY_INLINE Vector widen(hn::Vec<hn::Rebind<float, Tag>> values) {
  return hn::PromoteTo(Tag(), values);
}

HWY_INLINE Vector add_product(double, Vector sum, Vector left, Vector right) {
  return hn::Add(sum, hn::Mul(left, right));
}
// The product of two float32 is exact in float64, so there is one rounding, fused or not.
HWY_INLINE Vector add_product(float, Vector sum, Vector left, Vector right) {
  return hn::MulAdd(left, right, sum);
}

// Tensors may be unaligned, so elements are copied.
template <typename T>
double element(const T* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <std::size_t sum_count>
HWY_INLINE Row<sum_count> add(const Row<sum_count>& left, const Row<sum_count>& right) {
  const Tag d;
  Row<sum_count> sum;
  for (std::size_t i = 0; i < whole_vectors(sum_count); i += hn::Lanes(d))
    hn::Store(hn::Add(hn::Load(d, left.sums + i), hn::Load(d, right.sums + i)), d, sum.sums + i);
  return sum;
}

#undef VERNIER_FOUR_LANES
#if HWY_MAX_BYTES >= 32 && !HWY_HAVE_SCALABLE
#define VERNIER_FOUR_LANES 1
// The horizontal sums of four vectors: (a0+a1)+(a2+a3) in lane 0, then those of b, c and e.
HWY_INLINE Vector add_lanes(Vector a, Vector b, Vector c, Vector e) {
  const Tag d;
  const Vector ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const Vector ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  return hn::Add(hn::ConcatLowerLower(d, ce, ab), hn::ConcatUpperUpper(d, ce, ab));
}
#else
#define VERNIER_FOUR_LANES 0
#endif

// Running sums and maxima, one vector each.
template <typename T, std::size_t sum_count>
struct Running {
  using Narrow = hn::Rebind<T, Tag>;
  Vector rr, cc, rc, dd, abs_d, max_d;

  // An implicit constructor would not be compiled for the target.
  HWY_INLINE Running() { rr = cc = rc = dd = abs_d = max_d = hn::Zero(Tag()); }

  HWY_INLINE void add(Pair<T> from) {
    const Vector r = widen(hn::LoadU(Narrow(), from.reference));
    const Vector c = widen(hn::LoadU(Narrow(), from.candidate));
    const Vector difference = hn::Sub(r, c);
    rr = add_product(T(), rr, r, r);
    dd = hn::Add(dd, hn::Mul(difference, difference));
    if constexpr (sum_count == noise_sums) return;
    const Vector magnitude = hn::Abs(difference);
    cc = add_product(T(), cc, c, c);
    rc = add_product(T(), rc, r, c);
    abs_d = hn::Add(abs_d, magnitude);
    max_d = hn::Max(max_d, magnitude);
  }

#if VERNIER_FOUR_LANES
  // ((0+1)+(2+3))+((4+5)+(6+7)) for each sum; `this` has lanes 0 to 3, `high` has 4 to 7.
  HWY_INLINE Row<sum_count> total(const Running& high) const {
    const Tag d;
    Row<sum_count> row;
    const auto four = [&](const Running& of) HWY_ATTR {
      return sum_count == noise_sums ? add_lanes(of.rr, of.dd, of.rr, of.dd)
                                     : add_lanes(of.rr, of.dd, of.cc, of.rc);
    };
    hn::Store(hn::Add(four(*this), four(high)), d, row.sums);
    if constexpr (sum_count == noise_sums) return row;
    const Vector low_d = add_lanes(abs_d, abs_d, abs_d, abs_d);
    const Vector high_d = add_lanes(high.abs_d, high.abs_d, high.abs_d, high.abs_d);
    hn::Store(hn::Add(low_d, high_d), d, row.sums + abs_differences);
    return row;
  }
#else
  HWY_INLINE void store(double (*to)[stride], std::size_t lane) const {
    const Tag d;
    hn::Store(rr, d, to[reference_squares] + lane);
    hn::Store(dd, d, to[difference_squares] + lane);
    if constexpr (sum_count == noise_sums) return;
    hn::Store(cc, d, to[candidate_squares] + lane);
    hn::Store(rc, d, to[products] + lane);
    hn::Store(abs_d, d, to[abs_differences] + lane);
  }
#endif
};

// Sums the leaves of one chunk; with all_sums, also tracks the maxima.
template <typename T, std::size_t sum_count>
class Chunk {
 public:
  using Sums = Row<sum_count>;

  explicit Chunk(Pair<T> pair) : pair_(pair) {}

  ChunkNoise noise(std::size_t count) {
    const Sums row = sum_pairwise(0, count);
    return {row.sums[reference_squares], row.sums[difference_squares]};
  }

  ChunkSums everything(std::size_t count) {
    const Sums row = sum_pairwise(0, count);
    maxima_.reference_squares = row.sums[reference_squares];
    maxima_.candidate_squares = row.sums[candidate_squares];
    maxima_.products = row.sums[products];
    maxima_.difference_squares = row.sums[difference_squares];
    maxima_.abs_differences = row.sums[abs_differences];
    return maxima_;
  }

 private:
  Sums sum_pairwise(std::size_t begin, std::size_t count) {
    if (count <= leaf_size) return sum_leaf(begin, count);
    const std::size_t half = count / 2 / stride * stride;
    const Sums first = sum_pairwise(begin, half);
    return add(first, sum_pairwise(begin + half, count - half));
  }

  HWY_INLINE Sums sum_leaf(std::size_t begin, std::size_t count) {
    const std::size_t strided = count / stride * stride;
    Sums row = {};
    // Two vectors at a time, to hide the latency of additions.
#if VERNIER_FOUR_LANES
    sum_lanes(begin, count, 0, strided,
              [&](const auto& low, const auto& high) HWY_ATTR { row = low.total(high); });
#else
    alignas(64) double running[sum_count][stride];
    for (std::size_t lane = 0; lane < stride; lane += 2 * hn::Lanes(Tag()))
      sum_lanes(begin, count, lane, strided, [&](const auto& low, const auto& high) HWY_ATTR {
        low.store(running, lane);
        high.store(running, lane + hn::Lanes(Tag()));
      });
    for (std::size_t i = 0; i < sum_count; ++i) {
      const double* lane = running[i];
      row.sums[i] =
          ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    }
#endif
    for (std::size_t i = strided; i < count; ++i) add_element(begin, count, begin + i, row);
    return row;
  }

  // Calls take(low, high) with the running sums of two vectors of lanes.
  template <typename Take>
  HWY_INLINE void sum_lanes(std::size_t begin, std::size_t count, std::size_t lane,
                            std::size_t strided, const Take& take) {
    const Pair<T> from = pair_ + (begin + lane);
    Running<T, sum_count> low, high;
    const hn::CappedTag<T, 2 * hn::MaxLanes(Tag())> t;
    auto max_r = hn::Zero(t);
    for (std::size_t i = 0; i < strided; i += stride) {
      low.add(from + i);
      high.add(from + (i + hn::Lanes(Tag())));
      if constexpr (sum_count == noise_sums) continue;
      for (std::size_t j = 0; j < 2 * hn::Lanes(Tag()); j += hn::Lanes(t))
        max_r = hn::Max(max_r, hn::Abs(hn::LoadU(t, from.reference + (i + j))));
    }
    take(low, high);
    if constexpr (sum_count == noise_sums) return;
    const Vector max_d = hn::Max(low.max_d, high.max_d);
    // A new maximum is rare: a compare and a branch are cheaper than a horizontal maximum.
    const Tag d;
    if (!hn::AllFalse(t, hn::Gt(max_r, hn::Set(t, static_cast<T>(maxima_.max_abs_reference)))))
      raise_reference(hn::GetLane(hn::MaxOfLanes(t, max_r)));
    if (!hn::AllFalse(d, hn::Gt(max_d, hn::Set(d, maxima_.max_abs_difference))))
      raise_difference(hn::GetLane(hn::MaxOfLanes(d, max_d)), begin, count);
  }

  void add_element(std::size_t begin, std::size_t count, std::size_t at, Sums& row) {
    const double r = element(pair_.reference + at), c = element(pair_.candidate + at);
    const double difference = r - c;
    row.sums[reference_squares] += r * r;
    row.sums[difference_squares] += difference * difference;
    if constexpr (sum_count == noise_sums) return;
    row.sums[candidate_squares] += c * c;
    row.sums[products] += r * c;
    row.sums[abs_differences] += std::abs(difference);
    raise_reference(std::abs(r));
    raise_difference(std::abs(difference), begin, count);
  }

  void raise_reference(double value) {
    maxima_.max_abs_reference = std::max(maxima_.max_abs_reference, value);
  }
  void raise_difference(double value, std::size_t begin, std::size_t count) {
    if (!(value > maxima_.max_abs_difference)) return;
    maxima_.max_abs_difference = value;
    maxima_.max_leaf = begin;
    maxima_.max_leaf_size = count;
  }

  Pair<T> pair_;
  ChunkSums maxima_;
};

ChunkSums sum_f32(const float* reference, const float* candidate, std::size_t count) {
  return Chunk<float, all_sums>({reference, candidate}).everything(count);
}
ChunkSums sum_f64(const double* reference, const double* candidate, std::size_t count) {
  return Chunk<double, all_sums>({reference, candidate}).everything(count);
}
ChunkNoise noise_f32(const float* reference, const float* candidate, std::size_t count) {
  return Chunk<float, noise_sums>({reference, candidate}).noise(count);
}
ChunkNoise noise_f64(const double* reference, const double* candidate, std::size_t count) {
  return Chunk<double, noise_sums>({reference, candidate}).noise(count);
}

}  // namespace
}  // namespace vernier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier {
HWY_EXPORT(sum_f32);
HWY_EXPORT(sum_f64);
HWY_EXPORT(noise_f32);
HWY_EXPORT(noise_f64);

ChunkSums sum_chunk(std::span<const float> reference, std::span<const float> candidate) {
  return HWY_DYNAMIC_DISPATCH(sum_f32)(reference.data(), candidate.data(), reference.size());
}
ChunkSums sum_chunk(std::span<const double> reference, std::span<const double> candidate) {
  return HWY_DYNAMIC_DISPATCH(sum_f64)(reference.data(), candidate.data(), reference.size());
}
ChunkNoise sum_chunk_noise(std::span<const float> reference, std::span<const float> candidate) {
  return HWY_DYNAMIC_DISPATCH(noise_f32)(reference.data(), candidate.data(), reference.size());
}
ChunkNoise sum_chunk_noise(std::span<const double> reference, std::span<const double> candidate) {
  return HWY_DYNAMIC_DISPATCH(noise_f64)(reference.data(), candidate.data(), reference.size());
}
}  // namespace vernier
#endif
