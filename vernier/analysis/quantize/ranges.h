#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vernier {

// Extremes and histogram of a tensor's values over samples. The histogram is symmetric around zero
// and widens as needed. Memory use does not depend on the number of values, nor the content on the
// order of samples.
class ValueCounts {
 public:
  static constexpr int bins = 4096;

  void add(std::span<const float> values);  // NaN and infinities are only counted
  void add(const ValueCounts& other);

  std::int64_t count() const { return count_; }  // finite values
  std::int64_t nonfinite() const { return nonfinite_; }
  double low() const { return low_; }  // 0 if there are no finite values
  double high() const { return high_; }
  double bin_width() const { return 2 * limit_ / bins; }
  double centre(int bin) const { return -limit_ + (bin + 0.5) * bin_width(); }
  double bin_at(double value) const { return (value - centre(0)) / bin_width() + 0.5; }
  std::int64_t count(int bin) const { return counts_[static_cast<std::size_t>(bin)]; }

 private:
  void widen_to(double limit);

  double limit_ = 0;  // a power of two: the bins cover [-limit_, limit_)
  std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(bins);
  std::int64_t count_ = 0, nonfinite_ = 0;
  double low_ = 0, high_ = 0;
};

// How a calibration range follows from the values of a tensor.
enum class RangeRule { minmax, p99999, p9999, p999, mse, entropy };
inline constexpr std::array range_rules = {RangeRule::minmax, RangeRule::p99999,
                                           RangeRule::p9999,  RangeRule::p999,
                                           RangeRule::mse,    RangeRule::entropy};
std::string_view range_rule_name(RangeRule rule);  // "percentile 99.99"

struct CalibratedRange {
  double low = 0, high = 0;
  std::string rule = "minmax";  // or "given"
  bool operator==(const CalibratedRange&) const = default;
};

// A calibration range that includes zero. `steps` is the number of steps between the quantizer's
// ends: 255 for 8 bits. Above 8 bits the range is widened by with_margin().
CalibratedRange range_by(RangeRule rule, const ValueCounts& values, double steps);

// Doubles the range, so that values beyond those seen in calibration are not clipped. This costs 6
// dB; 16 bits give about 90.
CalibratedRange with_margin(CalibratedRange range);

// The rule that made the range; nullopt for ranges that were given.
std::optional<RangeRule> range_rule_of(const CalibratedRange& range);

using CalibratedRanges = std::map<std::string, CalibratedRange>;  // by tensor

// JSON that users can edit: {"ranges": {"tensor": {"low": 0, "high": 1, "rule": "minmax"}}}.
// read_ranges() throws Error for any other structure, and for a range that does not include zero.
CalibratedRanges read_ranges(const std::filesystem::path& file);
std::string ranges_json(const CalibratedRanges& ranges);

}  // namespace vernier
