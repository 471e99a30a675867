#include "vernier/metrics/pair_chunk.h"

#include <algorithm>
#include <array>
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

// numpy keeps eight running sums over stride 8 in a leaf: one vector of eight lanes, or two of
// four, or four of two.
constexpr std::size_t stride = 8;
using Tag = hn::CappedTag<double, stride>;
using Vector = hn::Vec<Tag>;

// The five sums of a leaf or of a node of the pairwise tree, padded to whole vectors.
enum Sum { reference_squares, candidate_squares, products, difference_squares, abs_differences };
constexpr std::size_t row_size = 8;
struct alignas(64) Row {
  double sums[row_size];
};

template <typename T>
struct Pair {
  const T* reference;
  const T* candidate;
  Pair operator+(std::size_t offset) const { return {reference + offset, candidate + offset}; }
};

HWY_INLINE Vector load(const double* from) { return hn::LoadU(Tag(), from); }
HWY_INLINE Vector load(const float* from) {
  return hn::PromoteTo(Tag(), hn::LoadU(hn::Rebind<float, Tag>(), from));
}

// Tensors may sit at any address, so elements are not dereferenced in place.
template <typename T>
double element(const T* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

HWY_INLINE Row add(const Row& left, const Row& right) {
  const Tag d;
  Row sum;
  for (std::size_t i = 0; i < row_size; i += hn::Lanes(d))
    hn::Store(hn::Add(hn::Load(d, left.sums + i), hn::Load(d, right.sums + i)), d, sum.sums + i);
  return sum;
}

// out[i] = in[2i] + in[2i+1]; out may be in.
HWY_INLINE void add_neighbours(const double* in, std::size_t outputs, double* out) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t i = 0; i < outputs; ++i) out[i] = in[2 * i] + in[2 * i + 1];
#else
  const Tag d;
  for (std::size_t i = 0; i < outputs; i += hn::Lanes(d)) {
    const Vector low = hn::Load(d, in + 2 * i);
    const Vector high = hn::Load(d, in + 2 * i + hn::Lanes(d));
    hn::Store(hn::Add(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low)), d, out + i);
  }
#endif
}

// Goes through the leaves of one chunk and keeps their maxima.
template <typename T>
class Chunk {
 public:
  explicit Chunk(Pair<T> pair) : pair_(pair) {}

  ChunkSums sum(std::size_t count) {
    const Row row = count == chunk_size ? sum_full() : sum_pairwise(0, count);
    maxima_.reference_squares = row.sums[reference_squares];
    maxima_.candidate_squares = row.sums[candidate_squares];
    maxima_.products = row.sums[products];
    maxima_.difference_squares = row.sums[difference_squares];
    maxima_.abs_differences = row.sums[abs_differences];
    return maxima_;
  }

 private:
  // The recursion below, unrolled: halves of a full chunk are equal down to 64 leaves of 128.
  Row sum_full() {
    std::array<Row, chunk_size / leaf_size> rows;
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = sum_leaf(i * leaf_size, leaf_size);
    for (std::size_t width = rows.size() / 2; width > 0; width /= 2)
      for (std::size_t i = 0; i < width; ++i) rows[i] = add(rows[2 * i], rows[2 * i + 1]);
    return rows[0];
  }

  Row sum_pairwise(std::size_t begin, std::size_t count) {
    if (count <= leaf_size) return sum_leaf(begin, count);
    const std::size_t half = count / 2 / stride * stride;
    const Row first = sum_pairwise(begin, half);
    return add(first, sum_pairwise(begin + half, count - half));
  }

  HWY_INLINE Row sum_leaf(std::size_t begin, std::size_t count) {
    const std::size_t strided = count / stride * stride;
    for (std::size_t lane = 0; lane < stride; lane += hn::Lanes(Tag()))
      sum_lanes(begin, count, lane, strided);
    // ((0+1)+(2+3))+((4+5)+(6+7)) for all sums at once.
    Row row;
    add_neighbours(running_[0], 4 * row_size, running_[0]);
    add_neighbours(running_[0], 2 * row_size, running_[0]);
    add_neighbours(running_[0], row_size, row.sums);
    for (std::size_t i = strided; i < count; ++i) add_element(begin, count, begin + i, row);
    return row;
  }

  // The running sums of one vector of lanes.
  HWY_INLINE void sum_lanes(std::size_t begin, std::size_t count, std::size_t lane,
                            std::size_t strided) {
    const Tag d;
    Vector rr = hn::Zero(d), cc = rr, rc = rr, dd = rr, abs_d = rr, max_r = rr, max_d = rr;
    const Pair<T> from = pair_ + (begin + lane);
    for (std::size_t i = 0; i < strided; i += stride) {
      const Vector r = load(from.reference + i);
      const Vector c = load(from.candidate + i);
      const Vector difference = hn::Sub(r, c);
      const Vector magnitude = hn::Abs(difference);
      rr = hn::Add(rr, hn::Mul(r, r));
      cc = hn::Add(cc, hn::Mul(c, c));
      rc = hn::Add(rc, hn::Mul(r, c));
      dd = hn::Add(dd, hn::Mul(difference, difference));
      abs_d = hn::Add(abs_d, magnitude);
      max_r = hn::Max(max_r, hn::Abs(r));
      max_d = hn::Max(max_d, magnitude);
    }
    hn::Store(rr, d, running_[reference_squares] + lane);
    hn::Store(cc, d, running_[candidate_squares] + lane);
    hn::Store(rc, d, running_[products] + lane);
    hn::Store(dd, d, running_[difference_squares] + lane);
    hn::Store(abs_d, d, running_[abs_differences] + lane);
    // A new maximum is rare: a compare and a branch cost less than a horizontal maximum.
    if (!hn::AllFalse(d, hn::Gt(max_r, hn::Set(d, maxima_.max_abs_reference))))
      raise_reference(hn::GetLane(hn::MaxOfLanes(d, max_r)));
    if (!hn::AllFalse(d, hn::Gt(max_d, hn::Set(d, maxima_.max_abs_difference))))
      raise_difference(hn::GetLane(hn::MaxOfLanes(d, max_d)), begin, count);
  }

  void add_element(std::size_t begin, std::size_t count, std::size_t at, Row& row) {
    const double r = element(pair_.reference + at), c = element(pair_.candidate + at);
    const double difference = r - c;
    row.sums[reference_squares] += r * r;
    row.sums[candidate_squares] += c * c;
    row.sums[products] += r * c;
    row.sums[difference_squares] += difference * difference;
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
  alignas(64) double running_[row_size][stride] = {};  // rows past the fifth stay 0
};

ChunkSums sum_f32(const float* reference, const float* candidate, std::size_t count) {
  return Chunk<float>({reference, candidate}).sum(count);
}
ChunkSums sum_f64(const double* reference, const double* candidate, std::size_t count) {
  return Chunk<double>({reference, candidate}).sum(count);
}

}  // namespace
}  // namespace vernier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier {
HWY_EXPORT(sum_f32);
HWY_EXPORT(sum_f64);

ChunkSums sum_chunk(std::span<const float> reference, std::span<const float> candidate) {
  return HWY_DYNAMIC_DISPATCH(sum_f32)(reference.data(), candidate.data(), reference.size());
}
ChunkSums sum_chunk(std::span<const double> reference, std::span<const double> candidate) {
  return HWY_DYNAMIC_DISPATCH(sum_f64)(reference.data(), candidate.data(), reference.size());
}
}  // namespace vernier
#endif
