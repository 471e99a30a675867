#include "vernier/analysis/debug/calibration_range.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "vernier/error.h"
#include "vernier/metrics/value_range.h"

namespace vernier {
namespace {

// How many values of the first sample enter the histogram; for sample n it is this / sqrt(n). Every
// sample adds information, while most of the work is spent on the first ones.
constexpr double values_of_first_sample = 1024;

// The weight of a sample, as a count over all bins. A bin overflows after 2^18 samples.
constexpr double counts_of_sample = 1 << 14;

// Odd, because rows are usually even, so that every column is visited.
std::size_t stride_of(std::size_t values, std::int64_t sample) {
  const double wanted = values_of_first_sample / std::sqrt(static_cast<double>(sample + 1));
  const auto stride = static_cast<std::size_t>(std::ceil(static_cast<double>(values) / wanted));
  return stride | 1;
}

void add_count(std::uint32_t& count, std::uint32_t more) {
  count += std::min(more, std::numeric_limits<std::uint32_t>::max() - count);
}

[[noreturn]] void throw_damaged() {
  throw Error("[part] a histogram is damaged; measure that part again");
}

// Variable-length encoding: seven bits per byte, lowest first.
void put_number(std::string& bytes, std::uint32_t number) {
  for (; number >= 128; number >>= 7) bytes += static_cast<char>(number % 128 + 128);
  bytes += static_cast<char>(number);
}

std::uint32_t take_number(std::string_view& bytes) {
  std::uint32_t number = 0;
  for (int shift = 0; shift < 32 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<std::uint32_t>(byte % 128) << shift;
    if (byte < 128) return number;
  }
  throw_damaged();
}

double gain_db(double before, double after) {
  return before > 0 && after > 0 ? 10 * std::log10(before / after) : 0;
}

}  // namespace

double ObservedValues::largest_magnitude() const {
  return std::max(std::fabs(low), std::fabs(high));
}

ObservedValues observe_values(std::span<const float> values, const RealRange& quantizer) {
  const auto [low, high] = value_range(values);
  ObservedValues observed{.count = std::ssize(values), .low = low, .high = high};
  const double half = quantizer.step / 2;
  if (!(low < quantizer.low - half) && !(high > quantizer.high + half)) return observed;
  for (const double value : values) {
    const double outside = std::max(quantizer.low - value, value - quantizer.high);
    if (!(outside > half)) continue;
    ++observed.clipped;
    observed.clipped_above += value > quantizer.high;
    observed.clipping_noise += outside * outside;
  }
  return observed;
}

ObservedValues pool(const ObservedValues& first, const ObservedValues& second) {
  if (first.count == 0) return second;
  if (second.count == 0) return first;
  return {first.count + second.count,
          std::fmin(first.low, second.low),
          std::fmax(first.high, second.high),
          first.clipped + second.clipped,
          first.clipping_noise + second.clipping_noise,
          first.clipped_above + second.clipped_above};
}

// Doubling the limit makes every bin a union of earlier ones.
void ValueHistogram::widen_to(double limit) {
  if (empty()) limit_ = limit;
  for (; limit_ < limit; limit_ *= 2) {
    std::array<std::uint32_t, bins> wider{};
    for (std::size_t i = 0; i < bins; ++i) wider[bins / 4 + i / 2] += counts_[i];
    counts_ = wider;
  }
}

void ValueHistogram::add(std::span<const float> values, std::int64_t sample,
                         double largest_magnitude, const ClipRange& clip) {
  if (values.empty() || !std::isfinite(largest_magnitude) || !(largest_magnitude > 0)) return;
  // A power of two that depends on the largest magnitude only, whatever the order of samples.
  widen_to(std::exp2(std::ceil(std::log2(largest_magnitude)) + 1));
  const double bins_per_unit = 1 / bin_width();  // a power of two
  const auto low = static_cast<float>(clip.low), high = static_cast<float>(clip.high);
  const std::size_t stride = stride_of(values.size(), sample);
  const auto weight = static_cast<std::uint32_t>(std::clamp(
      counts_of_sample * static_cast<double>(stride) / static_cast<double>(values.size()), 1.0,
      counts_of_sample));
  for (std::size_t i = static_cast<std::size_t>(sample) % stride; i < values.size(); i += stride) {
    if (std::isnan(values[i])) continue;
    const double value = std::clamp(values[i], low, high);
    const double bin = std::floor(value * bins_per_unit) + 0.5 * bins;
    add_count(counts_[static_cast<std::size_t>(std::clamp(bin, 0.0, bins - 1.0))], weight);
  }
}

void ValueHistogram::add(const ValueHistogram& other) {
  if (other.empty()) return;
  ValueHistogram more = other;
  more.widen_to(limit_);
  widen_to(more.limit_);
  for (std::size_t i = 0; i < bins; ++i) add_count(counts_[i], more.counts_[i]);
}

// The limit; the greatest common divisor of all counts; and for each bin that is not empty its
// distance from the one before, and its count over the divisor.
std::string ValueHistogram::packed() const {
  if (empty()) return "";
  std::string bytes(reinterpret_cast<const char*>(&limit_), sizeof limit_);
  std::uint32_t unit = 0;
  for (const std::uint32_t count : counts_) unit = std::gcd(unit, count);
  put_number(bytes, unit);
  std::size_t last = 0;
  for (std::size_t i = 0; i < bins; ++i) {
    if (counts_[i] == 0) continue;
    put_number(bytes, static_cast<std::uint32_t>(i - last));
    put_number(bytes, counts_[i] / unit);
    last = i;
  }
  return bytes;
}

ValueHistogram ValueHistogram::unpacked(std::string_view bytes) {
  ValueHistogram histogram;
  if (bytes.empty()) return histogram;
  if (bytes.size() < sizeof histogram.limit_) throw_damaged();
  std::memcpy(&histogram.limit_, bytes.data(), sizeof histogram.limit_);
  bytes.remove_prefix(sizeof histogram.limit_);
  const std::uint32_t unit = take_number(bytes);
  for (std::size_t bin = 0; !bytes.empty();) {
    bin += take_number(bytes);
    if (bin >= bins) throw_damaged();
    histogram.counts_[bin] = take_number(bytes) * unit;
  }
  return histogram;
}

RangeNoise::RangeNoise(const ValueHistogram& histogram, double steps)
    : width_(histogram.bin_width()),
      first_centre_(histogram.centre(0)),
      steps_(steps),
      below_(moments_below(histogram)) {}

// Bins within one bin width of an end count as inside: where their values lie is unknown.
double RangeNoise::operator()(double low, double high) const {
  const auto index = [](double bin) {
    return static_cast<std::size_t>(std::clamp<double>(bin, 0, ValueHistogram::bins));
  };
  const BinMoments& all = below_.back();
  const BinMoments& below = below_[index(std::ceil((low - first_centre_) / width_ - 1))];
  const BinMoments& up_to = below_[index(std::floor((high - first_centre_) / width_ + 1) + 1)];
  const BinMoments above = all - up_to;
  const double step = (high - low) / steps_;
  const double inside = all.count - below.count - above.count;
  return below.squared_distances(low) + above.squared_distances(high) + inside * step * step / 12;
}

QuantizationNoise assess_range(const ObservedValues& observed, const ValueHistogram& histogram,
                               const RealRange& quantizer, const ClipRange& folded) {
  QuantizationNoise noise{
      .representable = quantizer, .observed_low = observed.low, .observed_high = observed.high};
  if (observed.count == 0) return noise;
  noise.clipped_share = static_cast<double>(observed.clipped) / static_cast<double>(observed.count);
  noise.clipping_noise = observed.clipping_noise;
  // Zero must be representable.
  const double low = std::min(std::max(observed.low, folded.low), 0.0);
  const double high = std::max(std::min(observed.high, folded.high), 0.0);
  const double width = quantizer.high - quantizer.low;
  if (histogram.empty() || !(high > low) || !(width > 0)) return noise;
  const RangeNoise expected(histogram, width / quantizer.step);
  const double now = expected(quantizer.low, quantizer.high);
  const auto range = [&](double shrink) {
    const double new_low = shrink * low + 0.0, new_high = shrink * high + 0.0;  // no negative zero
    return CalibrationRange{new_low, new_high, (new_high - new_low) / width,
                            gain_db(now, expected(new_low, new_high))};
  };
  noise.observed_range = noise.best_range = range(1);
  for (double shrink = 0.97; shrink > 0.02; shrink *= 0.94)
    if (const CalibrationRange tried = range(shrink); tried.gain_db > noise.best_range.gain_db)
      noise.best_range = tried;
  return noise;
}

}  // namespace vernier
