#include "vernier/analysis/debug/value_histogram.h"

#include <algorithm>
#include <cmath>

namespace vernier {

// Doubling keeps every bin a union of earlier ones.
void ValueHistogram::make_room(double size) {
  if (empty()) reach_ = std::exp2(std::ceil(std::log2(size)) + 1);
  for (; size >= reach_; reach_ *= 2) {
    std::array<std::int64_t, bins> wider{};
    for (std::size_t i = 0; i < bins; ++i) wider[bins / 4 + i / 2] += counts_[i];
    counts_ = wider;
  }
  bins_per_unit_ = static_cast<float>(1 / bin_width());
}

void ValueHistogram::add(float value, std::int64_t weight) {
  if (std::isnan(value)) return;
  const float bin = value * bins_per_unit_ + bins / 2;
  counts_[static_cast<std::size_t>(std::clamp(bin, 0.0F, bins - 1.0F))] += weight;
}

RangeNoise::RangeNoise(const ValueHistogram& histogram, double steps)
    : width_(histogram.bin_width()), first_centre_(histogram.centre(0)), steps_(steps) {
  Moments sum;
  for (int i = 0; i < ValueHistogram::bins; ++i) {
    below_[static_cast<std::size_t>(i)] = sum;
    const auto count = static_cast<double>(histogram.count(i));
    const double centre = histogram.centre(i);
    sum.count += count;
    sum.values += count * centre;
    sum.squares += count * centre * centre;
  }
  below_.back() = sum;
}

double RangeNoise::distances(const Moments& outside, double end) {
  return std::max(0.0, outside.squares - 2 * end * outside.values + end * end * outside.count);
}

// Bins within a bin's width of an end count as inside: where in them the values are is not known.
double RangeNoise::operator()(double low, double high) const {
  const auto index = [](double bin) {
    return static_cast<std::size_t>(std::clamp<double>(bin, 0, ValueHistogram::bins));
  };
  const Moments& all = below_.back();
  const Moments& below = below_[index(std::ceil((low - first_centre_) / width_ - 1))];
  const Moments& up_to = below_[index(std::floor((high - first_centre_) / width_ + 1) + 1)];
  const Moments above{all.count - up_to.count, all.values - up_to.values,
                      all.squares - up_to.squares};
  const double step = (high - low) / steps_;
  const double inside = all.count - below.count - above.count;
  return distances(below, low) + distances(above, high) + inside * step * step / 12;
}

}  // namespace vernier
