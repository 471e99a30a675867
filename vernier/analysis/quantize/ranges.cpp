#include "vernier/analysis/quantize/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "vernier/analysis/debug/calibration_range.h"
#include "vernier/data/read_file.h"
#include "vernier/error.h"
#include "vernier/json.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

// The end of the bin at which more than this share of the values has been passed, from below or
// from above.
double quantile(const ValueCounts& values, double share, bool from_above) {
  const double wanted = share * static_cast<double>(values.count());
  double seen = 0;
  for (int i = 0; i < ValueCounts::bins; ++i) {
    const int bin = from_above ? ValueCounts::bins - 1 - i : i;
    seen += static_cast<double>(values.count(bin));
    if (seen > wanted)
      return values.centre(bin) + (from_above ? values.bin_width() : -values.bin_width()) / 2;
  }
  return from_above ? values.low() : values.high();
}

CalibratedRange with_zero(const ValueCounts& values, double low, double high) {
  return {std::min(0.0, std::max(low, values.low())), std::max(0.0, std::min(high, values.high()))};
}

CalibratedRange by_percentile(const ValueCounts& values, double percent) {
  const double tail = 1 - percent / 100;
  return with_zero(values, quantile(values, tail, false), quantile(values, tail, true));
}

// Expected quantization noise of any range, in constant time.
class ExpectedNoise {
 public:
  ExpectedNoise(const ValueCounts& values, double steps)
      : values_(values), steps_(steps), below_(moments_below(values)) {}

  // Sum of squared errors: rounding errors are uniform within a step, values outside are clipped.
  double operator()(double low, double high) const {
    const BinMoments &below = below_[bin_of(low)], &up_to = below_[bin_of(high)];
    const double step = (high - low) / steps_;
    return below.squared_distances(low) + (below_.back() - up_to).squared_distances(high) +
           (up_to.count - below.count) * step * step / 12;
  }

 private:
  std::size_t bin_of(double value) const {
    return static_cast<std::size_t>(
        std::clamp(values_.bin_at(value), 0.0, double(ValueCounts::bins)));
  }

  const ValueCounts& values_;
  double steps_;
  std::vector<BinMoments> below_;
};

constexpr double narrowest = 0.05, factor = 0.95;

CalibratedRange by_noise(const ValueCounts& values, double steps) {
  const ExpectedNoise noise(values, steps);
  const CalibratedRange widest = with_zero(values, values.low(), values.high());
  CalibratedRange best = widest;
  double least = noise(best.low, best.high);
  for (double low = 1; low > narrowest; low *= factor) {
    for (double high = 1; high > narrowest; high *= factor) {
      const double tried = noise(low * widest.low, high * widest.high);
      if (tried < least) {
        least = tried;
        best.low = low * widest.low;
        best.high = high * widest.high;
      }
      if (widest.high == 0) break;
    }
    if (widest.low == 0) break;
  }
  return best;
}

// Kullback-Leibler divergence between the clipped histogram and its quantized version, which is
// flat within each step.
double divergence(const ValueCounts& values, const CalibratedRange& range, int levels) {
  std::vector<double> inside(ValueCounts::bins), mass(levels), filled(levels);
  const auto level_of = [&](double value) {
    const double level = (value - range.low) / (range.high - range.low) * levels;
    return static_cast<std::size_t>(std::clamp(level, 0.0, levels - 1.0));
  };
  const auto bin_of = [&](double value) {
    return static_cast<int>(std::clamp(values.bin_at(value), 0.0, ValueCounts::bins - 1.0));
  };
  const int first = bin_of(range.low), last = bin_of(std::nextafter(range.high, 0.0));
  for (int bin = 0; bin < ValueCounts::bins; ++bin) {
    if (values.count(bin) == 0) continue;
    inside[std::clamp(bin, first, last)] += static_cast<double>(values.count(bin));
    if (bin < first || bin > last) continue;  // clipped values do not count here
    const std::size_t level = level_of(values.centre(bin));
    mass[level] += static_cast<double>(values.count(bin));
    filled[level] += 1;
  }
  double kept = 0, sum = 0;
  for (const double each : mass) kept += each;
  if (kept == 0) return std::numeric_limits<double>::infinity();
  for (int bin = first; bin <= last; ++bin) {
    if (inside[bin] == 0) continue;
    const std::size_t level = level_of(values.centre(bin));
    const double p = inside[bin] / static_cast<double>(values.count());
    const double q = filled[level] > 0 ? mass[level] / filled[level] / kept : 0;
    sum += p * std::log(p / std::max(q, 1e-12));
  }
  return sum;
}

CalibratedRange by_entropy(const ValueCounts& values, double steps) {
  const CalibratedRange widest = with_zero(values, values.low(), values.high());
  const int levels = static_cast<int>(std::min(steps + 1, 256.0));
  CalibratedRange best = widest;
  double least = std::numeric_limits<double>::infinity();
  for (double shrink = 1; shrink > narrowest; shrink *= factor) {
    const CalibratedRange tried{widest.low * shrink, widest.high * shrink};
    if (const double lost = divergence(values, tried, levels); lost < least) {
      least = lost;
      best = tried;
    }
  }
  return best;
}

CalibratedRange without_rule(RangeRule rule, const ValueCounts& values, double steps) {
  switch (rule) {
    case RangeRule::minmax: return with_zero(values, values.low(), values.high());
    case RangeRule::p99999: return by_percentile(values, 99.999);
    case RangeRule::p9999: return by_percentile(values, 99.99);
    case RangeRule::p999: return by_percentile(values, 99.9);
    case RangeRule::mse: return by_noise(values, steps);
    default: return by_entropy(values, steps);
  }
}

double number(const Json& range, const char* key, const std::string& where) {
  if (!range.is_object() || !range.contains(key) || !range[key].is_number())
    throw Error(fmt::format("{}: expected a number '{}'", where, key));
  return range[key].get<double>();
}

}  // namespace

void ValueCounts::widen_to(double limit) {
  if (limit_ == 0) limit_ = limit;
  for (; limit_ < limit; limit_ *= 2) {
    std::vector<std::int64_t> wider(bins);
    for (std::size_t i = 0; i < bins; ++i) wider[bins / 4 + i / 2] += counts_[i];
    counts_ = std::move(wider);
  }
}

void ValueCounts::add(std::span<const float> values) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::int64_t finite = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min<double>(low, value);
    high = std::max<double>(high, value);
    ++finite;
  }
  nonfinite_ += std::ssize(values) - finite;
  if (finite == 0) return;
  low_ = count_ == 0 ? low : std::min(low_, low);
  high_ = count_ == 0 ? high : std::max(high_, high);
  count_ += finite;
  const double largest = std::max({std::fabs(low), std::fabs(high), 1e-30});
  widen_to(std::exp2(std::floor(std::log2(largest)) + 1));
  const double per_unit = 1 / bin_width();  // a power of two
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double bin = value * per_unit + 0.5 * bins;
    ++counts_[static_cast<std::size_t>(std::clamp(bin, 0.0, bins - 1.0))];
  }
}

void ValueCounts::add(const ValueCounts& other) {
  nonfinite_ += other.nonfinite_;
  if (other.count_ == 0) return;
  low_ = count_ == 0 ? other.low_ : std::min(low_, other.low_);
  high_ = count_ == 0 ? other.high_ : std::max(high_, other.high_);
  ValueCounts wider = other;
  widen_to(other.limit_);
  wider.widen_to(limit_);
  for (std::size_t i = 0; i < bins; ++i) counts_[i] += wider.counts_[i];
  count_ += other.count_;
}

std::string_view range_rule_name(RangeRule rule) {
  switch (rule) {
    case RangeRule::minmax: return "minmax";
    case RangeRule::p99999: return "percentile 99.999";
    case RangeRule::p9999: return "percentile 99.99";
    case RangeRule::p999: return "percentile 99.9";
    case RangeRule::mse: return "mse";
    default: return "entropy";
  }
}

CalibratedRange range_by(RangeRule rule, const ValueCounts& values, double steps) {
  CalibratedRange range =
      values.count() == 0 ? CalibratedRange{} : without_rule(rule, values, steps);
  range.rule = std::string(range_rule_name(rule));
  constexpr double steps_of_8_bits = 255;
  return steps > steps_of_8_bits ? with_margin(range) : range;
}

CalibratedRange with_margin(CalibratedRange range) {
  range.low *= 2;
  range.high *= 2;
  return range;
}

std::optional<RangeRule> range_rule_of(const CalibratedRange& range) {
  const auto found = std::ranges::find(range_rules, range.rule, range_rule_name);
  return found == range_rules.end() ? std::nullopt : std::optional(*found);
}

CalibratedRanges read_ranges(const std::filesystem::path& file) {
  const std::string where = fmt::format("[quantize] --ranges {}", file.filename().string());
  const Json json = try_parse_json<Json>(as_text(read_file(file, "quantize")));
  if (json.is_discarded() || !json.is_object() || !json.contains("ranges") ||
      !json["ranges"].is_object())
    throw Error(where + ": expected a JSON object with \"ranges\", as --save-ranges writes it");
  CalibratedRanges ranges;
  for (const auto& [tensor, range] : json["ranges"].items()) {
    const std::string place = fmt::format("{}: '{}'", where, tensor);
    const CalibratedRange read{number(range, "low", place), number(range, "high", place), "given"};
    if (!(read.low <= 0 && read.high >= 0) || !std::isfinite(read.high - read.low))
      throw Error(
          fmt::format("{}: [{}, {}] must be finite and hold zero", place, read.low, read.high));
    ranges.emplace(tensor, read);
  }
  return ranges;
}

std::string ranges_json(const CalibratedRanges& ranges) {
  Json json = {{"ranges", Json::object()}};
  for (const auto& [tensor, range] : ranges)
    json["ranges"][tensor] = {{"low", range.low}, {"high", range.high}, {"rule", range.rule}};
  return json_text(json);
}

}  // namespace vernier
