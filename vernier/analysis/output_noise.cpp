#include "vernier/analysis/output_noise.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "vernier/metrics/jackknife.h"
#include "vernier/metrics/non_finite.h"

namespace vernier {
namespace {

constexpr double most_db = 300;

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The sums with each value left out in turn. Nothing is subtracted: if one value is most of the
// sum, the rest would be mostly rounding.
std::vector<double> sums_without_each(const std::vector<double>& values) {
  std::vector<double> sums(values.size());
  double before = 0, behind = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[i] = before;
    before += values[i];
  }
  for (std::size_t i = values.size(); i-- > 0;) {
    sums[i] += behind;
    behind += values[i];
  }
  return sums;
}

double ratio(double over, double under) { return over == 0 ? 0 : over / under; }

std::vector<double> totals_without_each(const OutputNoise& noise) {
  std::vector<double> totals(static_cast<std::size_t>(noise.samples()));
  for (const SampledRatio& output : noise.outputs) {
    const std::vector<double> without = output.without_each();
    for (std::size_t i = 0; i < totals.size(); ++i)
      totals[i] += without[i] / static_cast<double>(noise.outputs.size());
  }
  return totals;
}

using Change = std::function<double(double before, double after)>;

ConfidenceInterval interval_of(const Change& change, double before, double after,
                               const std::vector<double>& before_each,
                               const std::vector<double>& after_each) {
  std::vector<double> each(std::min(before_each.size(), after_each.size()));
  for (std::size_t i = 0; i < each.size(); ++i) each[i] = change(before_each[i], after_each[i]);
  return jackknife_interval(change(before, after), each);
}

ConfidenceInterval sqnr_interval(double noise, std::vector<double> without_each) {
  for (double& each : without_each) each = gain_db(1, each);
  return jackknife_interval(gain_db(1, noise), without_each);
}

ConfidenceInterval kl_interval(const OutputNoise& before, const OutputNoise& after,
                               const Change& change) {
  if (!before.kl || !after.kl) return {nan, nan};
  return interval_of(change, before.kl->value(), after.kl->value(), before.kl->without_each(),
                     after.kl->without_each());
}

}  // namespace

double SampledRatio::value() const {
  return over.empty() ? nan : ratio(sum_of(over), sum_of(under));
}

std::vector<double> SampledRatio::without_each() const {
  std::vector<double> values = sums_without_each(over);
  const std::vector<double> divisors = sums_without_each(under);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = ratio(values[i], divisors[i]);
  return values;
}

double OutputNoise::total() const {
  double sum = 0;
  for (const SampledRatio& output : outputs)
    sum += output.value() / static_cast<double>(outputs.size());
  return sum;
}

double OutputNoise::kl_mean() const { return kl ? kl->value() : nan; }

double OutputNoise::score() const { return kl ? kl_mean() : total(); }

double OutputNoise::of_sample(std::size_t sample) const {
  double sum = 0;
  for (const SampledRatio& output : outputs)
    sum += ratio(output.over[sample], sum_of(output.under)) / static_cast<double>(outputs.size());
  return sum;
}

std::int64_t OutputNoise::samples() const {
  return outputs.empty() ? 0 : std::ssize(outputs.front().over);
}

OutputNoise OutputNoise::first(std::int64_t samples) const {
  OutputNoise part = *this;
  const auto cut = [&](SampledRatio& ratio) {
    ratio.over.resize(static_cast<std::size_t>(samples));
    ratio.under.resize(static_cast<std::size_t>(samples));
  };
  std::ranges::for_each(part.outputs, cut);
  if (part.kl) cut(*part.kl);
  return part;
}

double noise_db(double noise) { return -10 * std::log10(noise); }

double cosine(std::span<const float> first, std::span<const float> second) {
  double products = 0, squares = 0, other_squares = 0;
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    products += static_cast<double>(first[i]) * second[i];
    squares += static_cast<double>(first[i]) * first[i];
    other_squares += static_cast<double>(second[i]) * second[i];
  }
  return products / std::sqrt(squares * other_squares);
}

double gain_db(double before, double after) {
  if (before == 0 && after == 0) return 0;
  return std::clamp(10 * std::log10(before / after), -most_db, most_db);
}

ConfidenceInterval sqnr_interval(const OutputNoise& noise) {
  return sqnr_interval(noise.total(), totals_without_each(noise));
}

ConfidenceInterval sqnr_interval(const SampledRatio& output) {
  return sqnr_interval(output.value(), output.without_each());
}

double OutputFigure::surely() const {
  return std::isnan(interval.low) || std::isinf(sqnr_db) ? sqnr_db : interval.low;
}

std::vector<OutputFigure> figures_of(const OutputNoise& noise) {
  std::vector<OutputFigure> figures;
  for (const SampledRatio& output : noise.outputs)
    figures.push_back({output.name, noise_db(output.value()), sqnr_interval(output)});
  return figures;
}

std::vector<OutputChange> changes_of(const OutputNoise& before, const OutputNoise& after) {
  std::vector<OutputChange> changes;
  for (std::size_t i = 0; before.outputs.size() > 1 && i < before.outputs.size(); ++i)
    changes.push_back({before.outputs[i].name, noise_db(before.outputs[i].value()),
                       noise_db(after.outputs[i].value())});
  return changes;
}

const OutputFigure& worst_of(const std::vector<OutputFigure>& figures) {
  const auto worse = [](const OutputFigure& first, const OutputFigure& second) {
    return std::isnan(first.sqnr_db) || first.sqnr_db < second.sqnr_db;
  };
  return *std::ranges::min_element(figures, worse);
}

ConfidenceInterval kl_interval(const OutputNoise& noise) {
  if (!noise.kl) return {nan, nan};
  return jackknife_interval(noise.kl->value(), noise.kl->without_each());
}

ConfidenceInterval gain_interval(const OutputNoise& before, const OutputNoise& after) {
  return interval_of(gain_db, before.total(), after.total(), totals_without_each(before),
                     totals_without_each(after));
}

ConfidenceInterval kl_gain_interval(const OutputNoise& before, const OutputNoise& after) {
  return kl_interval(before, after, gain_db);
}

ConfidenceInterval kl_change_interval(const OutputNoise& before, const OutputNoise& after) {
  return kl_interval(before, after, [](double first, double second) { return second - first; });
}

}  // namespace vernier
