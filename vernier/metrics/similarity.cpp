#include "vernier/metrics/similarity.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "vernier/metrics/kernels.h"
#include "vernier/metrics/non_finite.h"
#include "vernier/metrics/ulp.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// The sign of a NaN depends on the CPU; reports must not depend on it.
double canonical(double value) { return std::isnan(value) ? nan : value; }

// +inf without noise, even if there is no signal either.
double decibels(double signal, double noise) {
  return noise == 0 ? inf : canonical(10 * std::log10(signal / noise));
}

// Exactly 1 for identical tensors, zero or not; the quotient could round.
double cosine(const PairSums& sums) {
  if (sums.difference_squares == 0) return 1;
  if (std::isnan(sums.products)) return nan;
  if (sums.reference_squares == 0 || sums.candidate_squares == 0) return 0;
  return canonical(sums.products /
                   (std::sqrt(sums.reference_squares) * std::sqrt(sums.candidate_squares)));
}

double relative_l2(const PairSums& sums) {
  if (sums.difference_squares == 0) return 0;
  return canonical(std::sqrt(sums.difference_squares) / std::sqrt(sums.reference_squares));
}

// The index of numpy's argmax; nullopt if the row holds NaN.
std::optional<std::size_t> first_max(std::span<const double> row) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i])) return std::nullopt;
    if (row[i] > row[at]) at = i;
  }
  return at;
}

std::int64_t count_agreeing(std::span<const double> reference, std::span<const double> candidate,
                            std::size_t width) {
  std::int64_t agreeing = 0;
  for (std::size_t begin = 0; begin < reference.size(); begin += width) {
    const auto at = first_max(reference.subspan(begin, width));
    agreeing += at && at == first_max(candidate.subspan(begin, width));
  }
  return agreeing;
}

bool has_rows(const TensorView& tensor) { return !tensor.shape.empty() && tensor.size() > 0; }

}  // namespace

Similarity similarity(const PairSums& sums) {
  if (sums.count == 0) return {};
  const auto count = static_cast<double>(sums.count);
  const double mse = sums.difference_squares / count;
  return {.count = sums.count,
          .sqnr_db = decibels(sums.reference_squares, sums.difference_squares),
          .psnr_db = decibels(sums.max_abs_reference * sums.max_abs_reference, mse),
          .cosine_similarity = cosine(sums),
          .mse = canonical(mse),
          .max_abs_diff = sums.max_abs_difference,
          .mean_abs_diff = canonical(sums.abs_differences / count),
          .relative_l2 = relative_l2(sums),
          .max_abs_diff_index = sums.max_abs_difference_index,
          .reference_nan = sums.reference_nan,
          .reference_inf = sums.reference_inf,
          .candidate_nan = sums.candidate_nan,
          .candidate_inf = sums.candidate_inf};
}

double sqnr_db(const NoiseSums& sums) {
  return decibels(sums.reference_squares, sums.difference_squares);
}

Similarity similarity(const TensorView& reference, const TensorView& candidate,
                      const SimilarityOptions& options) {
  Similarity result = similarity(measure(reference, candidate));
  if (options.argmax) result.argmax_agreement = argmax_agreement(reference, candidate);
  if (!options.ulp) return result;
  if (const auto ulp = ulp_distance(reference, candidate)) {
    result.max_ulp_diff = ulp->max;
    result.p999_ulp_diff = ulp->p999;
  }
  return result;
}

std::optional<std::size_t> find_metric(std::string_view name) {
  for (std::size_t i = 0; i < similarity_metrics.size(); ++i)
    if (similarity_metrics[i].name == name) return i;
  return std::nullopt;
}

std::int64_t worst_sample(const Statistics& statistics, Better better) {
  if (statistics.nan_sample >= 0) return statistics.nan_sample;
  return better == Better::higher ? statistics.min_sample : statistics.max_sample;
}

void SimilarityAccumulator::add(std::int64_t sample, const Similarity& similarity) {
  ++totals_.samples;
  totals_.elements += similarity.count;
  totals_.reference_nan += similarity.reference_nan;
  totals_.reference_inf += similarity.reference_inf;
  totals_.candidate_nan += similarity.candidate_nan;
  totals_.candidate_inf += similarity.candidate_inf;
  for (std::size_t i = 0; i < similarity_metrics.size(); ++i)
    if (const auto value = similarity_metrics[i].value(similarity))
      values_[i].push_back({sample, *value});
}

SimilaritySummary SimilarityAccumulator::result() const {
  SimilaritySummary summary = totals_;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    std::vector<SampleValue> values = values_[i];
    std::ranges::stable_sort(values, {}, &SampleValue::sample);
    summary.statistics[i] = statistics(values);
  }
  return summary;
}

std::optional<double> argmax_agreement(const TensorView& reference, const TensorView& candidate) {
  if (!has_rows(reference) || !has_rows(candidate) || reference.size() != candidate.size() ||
      reference.shape.back() != candidate.shape.back())
    return std::nullopt;
  const std::int64_t count = reference.size(), width = reference.shape.back();
  // Widens several short rows at a time.
  const std::int64_t block = std::min(count, std::max<std::int64_t>(1, 4096 / width) * width);
  std::vector<double> rows(static_cast<std::size_t>(block)), others(rows.size());
  std::int64_t agreeing = 0;
  for (std::int64_t begin = 0; begin < count; begin += block) {
    const auto size = static_cast<std::size_t>(std::min(block, count - begin));
    const std::span row(rows.data(), size), other(others.data(), size);
    widen(reference, begin, row);
    widen(candidate, begin, other);
    agreeing += count_agreeing(row, other, static_cast<std::size_t>(width));
  }
  const std::int64_t row_count = count / width;
  return static_cast<double>(agreeing) / static_cast<double>(row_count);
}

}  // namespace vernier
