#include "vernier/analysis/evidence/other_channel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr double counted_reference = 1.5;  // steps of the reference above which an element counts
constexpr double counted_candidate = 3;  // of the candidate; error feedback seldom moves a 0 so far
constexpr std::int64_t least_counted = 4;  // counted elements; fewer are off by accident

struct ChannelSums {
  NoiseSums noise;
  std::int64_t counted = 0, off = 0;
};

// The rounding step of each element, and the smallest and largest code in use.
class RoundingSteps {
 public:
  // Uniform rounding noise has a variance of step^2 / 12.
  explicit RoundingSteps(const NoiseSums& noise)
      : scales_{std::sqrt(12 * noise.difference_squares / static_cast<double>(noise.count))},
        zero_points_{0} {}

  RoundingSteps(const TensorView& candidate, const Quantizer& quantizer)
      : scales_(to_f64(quantizer.scale)), zero_points_(scales_.size()) {
    if (scales_.size() > 1) index_.emplace(candidate.shape, quantizer);
    if (quantizer.zero_point) {
      const std::vector<double> stored = to_f64(*quantizer.zero_point);
      if (stored.size() == scales_.size()) zero_points_ = stored;
    }
    for (double& scale : scales_) scale = std::abs(scale);
    find_ends(elements<float>(candidate));
  }

  double size(std::int64_t element) const { return scales_[at(element)]; }

  bool is_clipped(std::int64_t element, double reference, double candidate) const {
    const double stored = code(element, candidate);
    return (stored > high_ - 0.5 && reference > candidate) ||
           (stored < low_ + 0.5 && reference < candidate);
  }

 private:
  std::int64_t at(std::int64_t element) const { return index_ ? (*index_)(element) : 0; }

  double code(std::int64_t element, double value) const {
    const std::int64_t scale = at(element);
    return value / scales_[scale] + zero_points_[scale];
  }

  void find_ends(std::span<const float> values) {
    low_ = INFINITY, high_ = -INFINITY;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double stored = code(static_cast<std::int64_t>(i), values[i]);
      low_ = std::min(low_, stored);
      high_ = std::max(high_, stored);
    }
  }

  std::vector<double> scales_, zero_points_;
  std::optional<ScaleIndex> index_;
  double low_ = -INFINITY, high_ = INFINITY;
};

RoundingSteps rounding_steps(const TensorView& reference, const TensorView& candidate,
                             const std::optional<Quantizer>& quantizer) {
  if (quantizer && is_integer(quantizer->dtype) &&
      (quantizer->scale.size() == 1 || ScaleIndex::fits(candidate.shape, *quantizer)))
    return {candidate, *quantizer};
  return RoundingSteps(measure_noise(reference, candidate));
}

// An axis, and the sums at each of its indices.
struct AxisSums {
  std::int64_t axis = 0;
  std::vector<ChannelSums> channels;
};

// Sums along the first, second and last axis. Clipped elements are left out.
std::array<AxisSums, 3> sum_channels(const TensorView& reference, const TensorView& candidate,
                                     const RoundingSteps& steps) {
  const auto& shape = reference.shape;
  const std::int64_t rank = std::ssize(shape), second = rank > 2 ? shape[1] : 1;
  const std::int64_t last = rank > 1 ? shape[rank - 1] : 1;
  const std::int64_t behind = reference.size() / shape[0], middle = behind / second / last;
  std::array<AxisSums, 3> sums;
  sums[0] = {0, std::vector<ChannelSums>(shape[0])};
  sums[1] = {1, std::vector<ChannelSums>(second)};
  sums[2] = {rank - 1, std::vector<ChannelSums>(last)};
  const auto expected = elements<float>(reference), found = elements<float>(candidate);
  std::int64_t i = 0;
  const auto add_row = [&](ChannelSums& first_sums, ChannelSums& second_sums) {
    for (std::int64_t along = 0; along < last; ++along, ++i) {
      const double from = expected[i], to = found[i], step = steps.size(i);
      const bool is_off = !(std::abs(from - to) <= rounded_steps * step);
      if (is_off && steps.is_clipped(i, from, to)) continue;
      const bool counts =
          !(std::abs(from) <= counted_reference * step && std::abs(to) < counted_candidate * step);
      for (ChannelSums* channel : {&first_sums, &second_sums, &sums[2].channels[along]}) {
        channel->noise.reference_squares += from * from;
        channel->noise.difference_squares += (from - to) * (from - to);
        channel->counted += counts ? 1 : 0;
        channel->off += counts && is_off ? 1 : 0;
      }
    }
  };
  for (ChannelSums& first_sums : sums[0].channels)
    for (ChannelSums& second_sums : sums[1].channels)
      for (std::int64_t row = 0; row < middle; ++row) add_row(first_sums, second_sums);
  return sums;
}

}  // namespace

double largest_steps(const TensorView& reference, const TensorView& candidate,
                     const Quantizer& quantizer, double factor) {
  const std::vector<double> scales = to_f64(quantizer.scale);
  const std::span<const float> expected = elements<float>(reference);
  const std::span<const float> found = elements<float>(candidate);
  const auto largest_of = [&](const auto& scale_of) {
    double largest = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double difference = std::abs(factor * expected[i] - found[i]);
      if (difference == 0) continue;  // also if the scale is 0
      const double steps = difference / scale_of(i);
      if (std::isnan(steps)) return double{INFINITY};
      largest = std::max(largest, steps);
    }
    return largest;
  };
  if (scales.size() == 1)
    return largest_of([scale = std::abs(scales[0])](std::size_t) { return scale; });
  if (!ScaleIndex::fits(candidate.shape, quantizer)) return INFINITY;
  return largest_of([&, index = ScaleIndex(candidate.shape, quantizer)](std::size_t i) {
    return std::abs(scales[index(static_cast<std::int64_t>(i))]);
  });
}

std::optional<WeightChannel> find_other_channel(const TensorView& reference,
                                                const TensorView& candidate,
                                                const std::optional<Quantizer>& quantizer,
                                                double least_db) {
  if (reference.size() == 0 || reference.shape.empty()) return std::nullopt;
  const RoundingSteps steps = rounding_steps(reference, candidate, quantizer);
  std::optional<WeightChannel> least_like;
  for (const AxisSums& axis : sum_channels(reference, candidate, steps))
    for (std::size_t i = 0; i < axis.channels.size(); ++i) {
      const ChannelSums& channel = axis.channels[i];
      const double db = sqnr_db(channel.noise);
      if (channel.counted < least_counted || 2 * channel.off <= channel.counted || db >= least_db)
        continue;
      if (!least_like || db < least_like->sqnr_db)
        least_like = {axis.axis, static_cast<std::int64_t>(i), db};
    }
  return least_like;
}
}  // namespace vernier
