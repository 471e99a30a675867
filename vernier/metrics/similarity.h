#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "vernier/metrics/statistics.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

struct NoiseSums;
struct PairSums;

// How close a candidate is to its reference. The defaults are the values for identical tensors, and
// for empty ones. A NaN on either side makes all dependent metrics NaN. Formulas: docs/metrics.md.
struct Similarity {
  std::int64_t count = 0;
  double sqnr_db = std::numeric_limits<double>::infinity();
  double psnr_db = std::numeric_limits<double>::infinity();
  double cosine_similarity = 1;
  double mse = 0;
  double max_abs_diff = 0;
  double mean_abs_diff = 0;
  double relative_l2 = 0;
  std::optional<double> max_ulp_diff;      // nullopt if not requested or not defined
  std::optional<double> p999_ulp_diff;     // 99.9th percentile
  std::optional<double> argmax_agreement;  // share of rows, 0 to 1
  std::int64_t max_abs_diff_index = -1;
  std::int64_t reference_nan = 0, reference_inf = 0;
  std::int64_t candidate_nan = 0, candidate_inf = 0;
  bool operator==(const Similarity&) const = default;
};

// All metrics except the ulp distances and the argmax agreement.
Similarity similarity(const PairSums& sums);
double sqnr_db(const NoiseSums& sums);

// Metrics that require another pass over the pair.
struct SimilarityOptions {
  bool ulp = false;
  bool argmax = false;
};

// Throws Error if the element counts differ.
Similarity similarity(const TensorView& reference, const TensorView& candidate,
                      const SimilarityOptions& options = {});

enum class Better { higher, lower };

struct Metric {
  std::string_view name;
  Better better;
  std::optional<double> (*value)(const Similarity&);
};

// Every metric by name, in the order of reports.
inline constexpr std::array<Metric, 10> similarity_metrics = {{
    {"sqnr_db", Better::higher, [](const Similarity& s) { return std::optional(s.sqnr_db); }},
    {"psnr_db", Better::higher, [](const Similarity& s) { return std::optional(s.psnr_db); }},
    {"cosine_similarity", Better::higher,
     [](const Similarity& s) { return std::optional(s.cosine_similarity); }},
    {"mse", Better::lower, [](const Similarity& s) { return std::optional(s.mse); }},
    {"max_abs_diff", Better::lower,
     [](const Similarity& s) { return std::optional(s.max_abs_diff); }},
    {"mean_abs_diff", Better::lower,
     [](const Similarity& s) { return std::optional(s.mean_abs_diff); }},
    {"relative_l2", Better::lower,
     [](const Similarity& s) { return std::optional(s.relative_l2); }},
    {"max_ulp_diff", Better::lower, [](const Similarity& s) { return s.max_ulp_diff; }},
    {"p999_ulp_diff", Better::lower, [](const Similarity& s) { return s.p999_ulp_diff; }},
    {"argmax_agreement", Better::higher, [](const Similarity& s) { return s.argmax_agreement; }},
}};

// The index of a metric in `similarity_metrics`; nullopt if there is none of that name.
std::optional<std::size_t> find_metric(std::string_view name);

// The metrics of one pair, summarised over samples.
struct SimilaritySummary {
  std::int64_t samples = 0;
  std::int64_t elements = 0;
  std::array<Statistics, similarity_metrics.size()>
      statistics;                                     // in the order of `similarity_metrics`
  std::int64_t reference_nan = 0, reference_inf = 0;  // elements, over all samples
  std::int64_t candidate_nan = 0, candidate_inf = 0;
  bool operator==(const SimilaritySummary&) const = default;
};

// The first sample with NaN, else the first with the worst value; -1 without samples.
std::int64_t worst_sample(const Statistics& statistics, Better better);

// Collects samples in any order; the summary is computed in the order of their numbers.
class SimilarityAccumulator {
 public:
  void add(std::int64_t sample, const Similarity& similarity);
  SimilaritySummary result() const;

 private:
  SimilaritySummary totals_;  // without the statistics
  std::array<std::vector<SampleValue>, similarity_metrics.size()> values_;
};

// The share (0 to 1) of rows along the last axis whose first maximum is at the same position in
// both tensors. A row with NaN on either side counts as changed. nullopt for scalars, empty
// tensors, and tensors of different size or row length.
std::optional<double> argmax_agreement(const TensorView& reference, const TensorView& candidate);

}  // namespace vernier
