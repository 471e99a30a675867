#include "vernier/analysis/tensor_detail.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr std::size_t bins = 64;
constexpr std::int64_t most_side = 40, most_planes = 4, most_channels = 1024;

struct Pair {
  std::vector<double> reference, candidate;
  Shape shape;
  std::size_t size() const { return reference.size(); }
  bool is_finite(std::size_t i) const {
    return std::isfinite(reference[i]) && std::isfinite(candidate[i]);
  }
  double error(std::size_t i) const { return candidate[i] - reference[i]; }
};

void add_histograms(const Pair& pair, TensorDetail& detail) {
  double low = 0, high = 0;  // errors are centred on 0
  for (std::size_t i = 0; i < pair.size(); ++i) {
    if (!pair.is_finite(i)) continue;
    low = std::min({low, pair.reference[i], pair.candidate[i], pair.error(i)});
    high = std::max({high, pair.reference[i], pair.candidate[i], pair.error(i)});
  }
  detail.low = low;
  detail.high = high;
  detail.reference.assign(bins, 0);
  detail.candidate.assign(bins, 0);
  detail.error.assign(bins, 0);
  const double scale = high > low ? bins / (high - low) : 0;
  const auto count = [&](std::vector<std::uint32_t>& counts, double value) {
    counts[std::min(bins - 1, static_cast<std::size_t>((value - low) * scale))] += 1;
  };
  for (std::size_t i = 0; i < pair.size(); ++i) {
    if (!pair.is_finite(i)) continue;
    count(detail.reference, pair.reference[i]);
    count(detail.candidate, pair.candidate[i]);
    count(detail.error, pair.error(i));
  }
}

Shape index_of(std::size_t element, const Shape& shape) {
  Shape index(shape.size());
  auto rest = static_cast<std::int64_t>(element);
  for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
    index[axis] = rest % shape[axis];
  return index;
}

void add_worst(const Pair& pair, TensorDetail& detail) {
  std::size_t worst = 0;
  double largest = -1, sum = 0;
  std::size_t counted = 0;
  for (std::size_t i = 0; i < pair.size(); ++i) {
    const double error = std::abs(pair.error(i));
    if (pair.is_finite(i)) {
      sum += error;
      ++counted;
    }
    const bool same = pair.reference[i] == pair.candidate[i] ||
                      (std::isnan(pair.reference[i]) && std::isnan(pair.candidate[i]));
    const double size = same ? 0 : std::isnan(error) ? INFINITY : error;
    if (!(size > largest)) continue;
    largest = size;
    worst = i;
  }
  detail.mean_abs_error = counted > 0 ? sum / static_cast<double>(counted) : 0;
  if (pair.size() == 0) return;
  detail.worst = index_of(worst, pair.shape);
  detail.worst_reference = pair.reference[worst];
  detail.worst_candidate = pair.candidate[worst];
}

// Images have their channels after the batch, sequences and matrices at the end.
int channel_axis(const Shape& shape) {
  return shape.size() >= 4 ? 1 : std::max(0, static_cast<int>(shape.size()) - 1);
}

void add_channels(const Pair& pair, TensorDetail& detail) {
  detail.channel_axis = channel_axis(pair.shape);
  const std::int64_t channels = pair.shape.empty() ? 1 : pair.shape[detail.channel_axis];
  if (channels < 2 || channels > most_channels) return;
  std::int64_t inner = 1;
  for (std::size_t axis = detail.channel_axis + 1; axis < pair.shape.size(); ++axis)
    inner *= pair.shape[axis];
  std::vector<double> noise(channels), signal(channels);
  for (std::size_t i = 0; i < pair.size(); ++i) {
    if (!pair.is_finite(i)) continue;
    const auto channel = (static_cast<std::int64_t>(i) / inner) % channels;
    noise[channel] += pair.error(i) * pair.error(i);
    signal[channel] += pair.reference[i] * pair.reference[i];
  }
  const double elements = static_cast<double>(pair.size()) / static_cast<double>(channels);
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    detail.channel_error.push_back(static_cast<float>(std::sqrt(noise[channel] / elements)));
    detail.channel_signal.push_back(static_cast<float>(std::sqrt(signal[channel] / elements)));
  }
}

// The last two axes; a tensor with only one axis longer than 1 is wrapped into lines.
struct Planes {
  std::int64_t count = 1, rows = 1, columns = 1;
  bool wrapped = false;
};

Planes planes_of(const Shape& shape, std::int64_t size) {
  const auto long_axes = std::ranges::count_if(shape, [](auto dim) { return dim > 1; });
  const std::size_t rank = shape.size();
  if (long_axes < 2 || rank < 2 || shape[rank - 1] * shape[rank - 2] == 1) {
    const std::int64_t columns = std::min<std::int64_t>(size, most_side);
    return {1, columns > 0 ? (size + columns - 1) / columns : 0, columns, true};
  }
  const std::int64_t rows = shape[rank - 2], columns = shape[rank - 1];
  return {size / (rows * columns), rows, columns, false};
}

std::string plane_label(const Shape& shape, const Planes& planes, std::int64_t plane) {
  if (planes.wrapped) return fmt::format("in lines of {}", planes.columns);
  const Shape outer(shape.begin(), shape.end() - 2);
  std::vector<std::string> parts;
  for (const auto index : index_of(plane, outer)) parts.push_back(std::to_string(index));
  parts.insert(parts.end(), {":", ":"});
  return fmt::format("[{}]", fmt::join(parts, ","));
}

// Each pixel stands for a rectangle of the plane: its mean, and its largest error.
TensorSlice slice_of(const Pair& pair, const Planes& planes, std::int64_t plane) {
  TensorSlice slice{.label = plane_label(pair.shape, planes, plane),
                    .rows = std::min(planes.rows, most_side),
                    .columns = std::min(planes.columns, most_side)};
  if (slice.rows < planes.rows || slice.columns < planes.columns)
    slice.label += fmt::format(" of {} x {}", planes.rows, planes.columns);
  const std::size_t elements = slice.rows * slice.columns;
  std::vector<double> sums(elements), errors(elements);
  std::vector<std::int64_t> counts(elements);
  const std::int64_t begin = plane * planes.rows * planes.columns;
  for (std::int64_t row = 0; row < planes.rows; ++row)
    for (std::int64_t column = 0; column < planes.columns; ++column) {
      const std::size_t from = begin + row * planes.columns + column;
      if (from >= pair.size() || !pair.is_finite(from)) continue;
      const std::size_t to = (row * slice.rows / planes.rows) * slice.columns +
                             column * slice.columns / planes.columns;
      sums[to] += pair.reference[from];
      ++counts[to];
      if (std::abs(pair.error(from)) > std::abs(errors[to])) errors[to] = pair.error(from);
    }
  for (std::size_t i = 0; i < elements; ++i)
    if (counts[i] > 0) sums[i] /= static_cast<double>(counts[i]);
  const auto [low, high] = std::ranges::minmax(sums);
  slice.low = low;
  slice.high = high;
  for (const double error : errors) slice.error = std::max(slice.error, std::abs(error));
  for (std::size_t i = 0; i < elements; ++i) {
    const double share = high > low ? (sums[i] - low) / (high - low) : 0;
    const double part = slice.error > 0 ? errors[i] / slice.error : 0;
    slice.reference.push_back(static_cast<std::uint8_t>(std::lround(255 * share)));
    slice.difference.push_back(static_cast<std::uint8_t>(128 + std::lround(127 * part)));
  }
  return slice;
}

void add_slices(const Pair& pair, TensorDetail& detail) {
  const Planes planes = planes_of(pair.shape, static_cast<std::int64_t>(pair.size()));
  if (planes.rows * planes.columns == 0) return;
  const std::size_t each = planes.rows * planes.columns;
  std::vector<double> noise(planes.count);
  for (std::size_t i = 0; i < pair.size(); ++i)
    if (pair.is_finite(i))
      noise[std::min(i / each, noise.size() - 1)] += pair.error(i) * pair.error(i);
  std::vector<std::int64_t> order(planes.count);
  std::iota(order.begin(), order.end(), 0);
  const auto shown = std::min<std::int64_t>(planes.count, most_planes);
  std::ranges::partial_sort(order, order.begin() + shown, [&](std::int64_t a, std::int64_t b) {
    return std::pair(-noise[a], a) < std::pair(-noise[b], b);
  });
  for (const std::int64_t plane : std::span(order).first(shown))
    detail.slices.push_back(slice_of(pair, planes, plane));
}

}  // namespace

TensorDetail describe_detail(const TensorView& reference, const TensorView& candidate) {
  const Pair pair{to_f64(reference), to_f64(candidate),
                  Shape(candidate.shape.begin(), candidate.shape.end())};
  TensorDetail detail{.shape = pair.shape};
  add_histograms(pair, detail);
  add_worst(pair, detail);
  add_channels(pair, detail);
  if (pair.size() > 0) add_slices(pair, detail);
  return detail;
}

ShowPair DetailRecord::recorder() {
  return [this](const std::string& group, const std::string& name, const TensorView& reference,
                const TensorView& candidate) {
    if (reference.size() == candidate.size())
      details_.insert_or_assign({group, name}, describe_detail(reference, candidate));
  };
}

const TensorDetail* DetailRecord::find(const Key& key) const {
  const auto found = details_.find(key);
  return found == details_.end() ? nullptr : &found->second;
}

}  // namespace vernier
