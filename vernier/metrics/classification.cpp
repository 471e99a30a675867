#include "vernier/metrics/classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

void require_one_label_each(std::int64_t samples, std::size_t labels) {
  if (static_cast<std::size_t>(samples) != labels)
    throw Error(
        fmt::format("[classification] {} predictions for {} labels; both must be of the "
                    "same samples",
                    samples, labels));
}

void rank(std::span<const double> values, std::span<std::int64_t> best) {
  if (std::ranges::any_of(values, [](double value) { return std::isnan(value); })) return;
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto better = [&](std::int64_t x, std::int64_t y) {
    return values[x] > values[y] || (values[x] == values[y] && x < y);
  };
  std::ranges::partial_sort(order, order.begin() + best.size(), better);
  std::copy_n(order.begin(), best.size(), best.begin());
}

}  // namespace

Rankings rank_logits(const TensorView& logits, std::int64_t depth) {
  if (logits.shape.size() != 2 || logits.shape[1] < 1 || depth < 1)
    throw Error(fmt::format("[classification] '{}' has shape {}, expected [samples,classes]",
                            logits.name, format_shape(logits.shape)));
  const std::int64_t classes = logits.shape[1];
  Rankings result{.samples = logits.shape[0], .depth = std::min(depth, classes)};
  result.classes.assign(result.samples * result.depth, -1);
  std::vector<double> values(classes);
  for (std::int64_t sample = 0; sample < result.samples; ++sample) {
    widen(logits, sample * classes, std::span(values));
    rank(values, std::span(result.classes).subspan(sample * result.depth, result.depth));
  }
  return result;
}

std::vector<std::uint8_t> hits(const Rankings& rankings, std::span<const std::int64_t> labels,
                               std::int64_t depth) {
  require_one_label_each(rankings.samples, labels.size());
  std::vector<std::uint8_t> result;
  for (std::int64_t sample = 0; sample < rankings.samples; ++sample) {
    const auto best = rankings.of(sample).first(std::min(depth, rankings.depth));
    const bool among = std::ranges::find(best, labels[sample]) != best.end();
    result.push_back(among && labels[sample] >= 0);  // -1 is no class
  }
  return result;
}

double percentage(double part, double whole) {
  if (whole == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::nearbyint(100 * part / whole * 1e4) / 1e4;
}

double accuracy(std::span<const std::uint8_t> hits) {
  return percentage(std::accumulate(hits.begin(), hits.end(), 0.0),
                    static_cast<double>(hits.size()));
}

std::vector<ClassAccuracy> accuracy_by_class(std::span<const std::uint8_t> hits,
                                             std::span<const std::int64_t> labels) {
  require_one_label_each(static_cast<std::int64_t>(hits.size()), labels.size());
  std::map<std::int64_t, ClassAccuracy> classes;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    ClassAccuracy& entry = classes.try_emplace(labels[i], ClassAccuracy{labels[i]}).first->second;
    ++entry.samples;
    entry.correct += hits[i];
  }
  std::vector<ClassAccuracy> result;
  for (const auto& [label, entry] : classes) result.push_back(entry);
  return result;
}

std::vector<FlippedSample> flipped_samples(const Rankings& reference, const Rankings& candidate,
                                           std::span<const std::int64_t> labels) {
  require_one_label_each(reference.samples, labels.size());
  require_one_label_each(candidate.samples, labels.size());
  std::vector<FlippedSample> flipped;
  for (std::int64_t i = 0; i < std::ssize(labels); ++i)
    if (const std::int64_t before = reference.of(i)[0], after = candidate.of(i)[0]; before != after)
      flipped.push_back({i, labels[static_cast<std::size_t>(i)], before, after});
  return flipped;
}

Flips count_flips(std::span<const FlippedSample> samples) {
  Flips flips;
  for (const FlippedSample& each : samples) {
    ++flips.flipped;
    flips.to_wrong += each.reference == each.label && each.reference >= 0;
    flips.to_right += each.candidate == each.label && each.candidate >= 0;
  }
  return flips;
}

double chance_accuracy(std::span<const std::int64_t> labels, std::int64_t depth) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const std::int64_t label : labels) ++counts[label];
  std::vector<std::int64_t> commonest;
  for (const auto& [label, count] : counts) commonest.push_back(count);
  std::ranges::sort(commonest, std::greater{});
  commonest.resize(std::min<std::size_t>(commonest.size(), depth));
  return percentage(std::accumulate(commonest.begin(), commonest.end(), 0.0),
                    static_cast<double>(labels.size()));
}

std::int64_t count_outside(std::span<const std::int64_t> labels, std::int64_t classes) {
  return std::ranges::count_if(labels,
                               [&](std::int64_t label) { return label < 0 || label >= classes; });
}

std::vector<std::int64_t> to_integers(const TensorView& tensor) {
  if (!is_integer(tensor.dtype))
    throw Error(fmt::format("[labels] '{}' is {}, expected integers", tensor.name,
                            dtype_name(tensor.dtype)));
  const Tensor converted = convert(tensor, DType::i64);
  const auto values = elements<std::int64_t>(converted);
  return {values.begin(), values.end()};
}

}  // namespace vernier
