#include "vernier/data/resample.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/data/resample.cpp"
#include <hwy/foreach_target.h>  // compiles this file once more for each SIMD target
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace vernier::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int32_t half = 1 << (weight_bits - 1);

template <class D>
using Bytes = hn::Rebind<std::uint8_t, D>;

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const std::uint8_t* from) {
  return hn::PromoteTo(d, hn::LoadU(Bytes<D>(), from));
}

// Shifts out the fraction bits and clips to 8 bits.
template <class D>
HWY_INLINE void store(D, hn::Vec<D> sum, std::uint8_t* to) {
  const Bytes<D> bytes;
  hn::StoreU(hn::DemoteTo(bytes, hn::ShiftRight<weight_bits>(sum)), bytes, to);
}

// Sums a block of columns in four registers.
template <class D>
HWY_INLINE void weigh_block(D d, const std::uint8_t* rows, std::size_t stride,
                            std::span<const std::int32_t> weights, std::uint8_t* out) {
  const std::size_t n = hn::Lanes(d);
  auto sum0 = hn::Set(d, half), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  for (const std::int32_t weight : weights) {
    const auto w = hn::Set(d, weight);
    sum0 = hn::Add(sum0, hn::Mul(load(d, rows), w));
    sum1 = hn::Add(sum1, hn::Mul(load(d, rows + n), w));
    sum2 = hn::Add(sum2, hn::Mul(load(d, rows + 2 * n), w));
    sum3 = hn::Add(sum3, hn::Mul(load(d, rows + 3 * n), w));
    rows += stride;
  }
  store(d, sum0, out);
  store(d, sum1, out + n);
  store(d, sum2, out + 2 * n);
  store(d, sum3, out + 3 * n);
}

template <class D>
HWY_INLINE void weigh_vector(D d, const std::uint8_t* rows, std::size_t stride,
                             std::span<const std::int32_t> weights, std::uint8_t* out) {
  auto sum = hn::Set(d, half);
  for (std::size_t i = 0; i < weights.size(); ++i)
    sum = hn::Add(sum, hn::Mul(load(d, rows + i * stride), hn::Set(d, weights[i])));
  store(d, sum, out);
}

void weigh_rows(const std::uint8_t* rows, std::size_t stride, std::span<const std::int32_t> weights,
                std::span<std::uint8_t> out) {
  const hn::ScalableTag<std::int32_t> d;
  const std::size_t n = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 4 * n <= out.size(); i += 4 * n)
    weigh_block(d, rows + i, stride, weights, out.data() + i);
  for (; i + n <= out.size(); i += n) weigh_vector(d, rows + i, stride, weights, out.data() + i);
  const hn::CappedTag<std::int32_t, 1> one;
  for (; i < out.size(); ++i) weigh_vector(one, rows + i, stride, weights, out.data() + i);
}

// A pixel of three channels fills three of four lanes; the fourth is dropped.
HWY_INLINE void weigh_rgb(const std::uint8_t* row, const Taps& taps, std::uint8_t* out) {
#if HWY_TARGET == HWY_SCALAR
  const hn::CappedTag<std::int32_t, 1> one;
  for (int channel = 0; channel < 3; ++channel)
    weigh_vector(one, row + 3 * taps.first + channel, 3, taps.weights, out + channel);
#else
  const hn::FixedTag<std::int32_t, 4> d;
  auto even = hn::Set(d, half), odd = hn::Zero(d);
  const std::uint8_t* pixel = row + 3 * std::ptrdiff_t{taps.first};
  const std::size_t count = taps.weights.size();
  std::size_t i = 0;
  for (; i + 2 <= count; i += 2, pixel += 6) {
    even = hn::Add(even, hn::Mul(load(d, pixel), hn::Set(d, taps.weights[i])));
    odd = hn::Add(odd, hn::Mul(load(d, pixel + 3), hn::Set(d, taps.weights[i + 1])));
  }
  if (i < count) even = hn::Add(even, hn::Mul(load(d, pixel), hn::Set(d, taps.weights[i])));
  HWY_ALIGN std::uint8_t lanes[4];
  store(d, hn::Add(even, odd), lanes);
  out[0] = lanes[0], out[1] = lanes[1], out[2] = lanes[2];
#endif
}

void weigh_pixels(const std::uint8_t* row, int channels, std::span<const Taps> taps,
                  std::span<std::uint8_t> out) {
  const hn::CappedTag<std::int32_t, 1> one;
  for (std::size_t i = 0; i < taps.size(); ++i) {
    if (channels == 3)
      weigh_rgb(row, taps[i], out.data() + 3 * i);
    else
      weigh_vector(one, row + taps[i].first, 1, taps[i].weights, out.data() + i);
  }
}

}  // namespace
}  // namespace vernier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier {
HWY_EXPORT(weigh_rows);
HWY_EXPORT(weigh_pixels);

void weigh_rows(const std::uint8_t* rows, std::size_t stride, std::span<const std::int32_t> weights,
                std::span<std::uint8_t> out) {
  HWY_DYNAMIC_DISPATCH(weigh_rows)(rows, stride, weights, out);
}

void weigh_pixels(const std::uint8_t* row, int channels, std::span<const Taps> taps,
                  std::span<std::uint8_t> out) {
  HWY_DYNAMIC_DISPATCH(weigh_pixels)(row, channels, taps, out);
}
}  // namespace vernier
#endif
