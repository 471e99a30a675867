#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/verdict.h"
#include "vernier/metrics/similarity.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

enum class PairStatus { compared, shape_mismatch, only_in_reference, only_in_candidate };

std::string_view pair_status_name(PairStatus status);  // "compared", "shape_mismatch", ...

// For samples that are sequences: the step, counted from 0, with the lowest SQNR.
struct WorstStep {
  std::int64_t sample = 0, step = 0;
  double sqnr_db = 0;
  bool operator==(const WorstStep&) const = default;
};

// A reference tensor and the candidate tensor that should equal it, over all samples.
struct PairResult {
  std::string name;
  PairStatus status = PairStatus::compared;
  DType reference_dtype = DType::f32;  // meaningful for a side that has the tensor
  DType candidate_dtype = DType::f32;
  Shape reference_shape;
  Shape candidate_shape;
  SimilaritySummary similarity;  // of the samples that could be compared
  // For class ids and other integers: the share of elements equal to the reference's; else nullopt.
  std::optional<double> equal_share;
  // For a shape mismatch: the change of layout that makes the two agree; empty if there is none.
  // For a compared pair: the axes of size 1 that only one side has.
  std::string layout;
  std::optional<WorstStep> worst_step;  // nullopt if a sample is one run
  // The lowest SQNR of a sample, where a signal below the mean of all samples counts as that mean:
  // little noise is much compared with a signal of almost zero. NaN if the SQNR of a sample is.
  double worst_against_mean_db = 0;
  // Signal over noise, each summed over all samples that have noise.
  double pooled_sqnr_db = 0;
  double median_sqnr_db = 0;  // at least half of the samples have this or less
  bool operator==(const PairResult&) const = default;
};

// Whether both sides have the tensor, but no sample has an element: nothing was compared.
bool is_empty(const PairResult& pair);

// The share of samples whose argmax differs; nullopt unless it is a decision: of class scores, not
// of boxes or images.
std::optional<double> changed_decisions(const PairResult& pair);

// Whether only one side has the tensor.
bool is_one_sided(const PairResult& pair);

// A tensor that the other side does not have.
PairResult one_sided(const Tensor& tensor, PairStatus status);

// The measurements of a pair on one sample.
struct PairSample {
  PairStatus status = PairStatus::compared;
  DType reference_dtype = DType::f32;
  DType candidate_dtype = DType::f32;
  Shape reference_shape;
  Shape candidate_shape;
  std::string layout;                 // as in PairResult
  Similarity similarity;              // if the pair could be compared
  std::optional<double> equal_share;  // as in PairResult
  bool operator==(const PairSample&) const = default;
};

PairSample measure_pair(const TensorView& reference, const TensorView& candidate,
                        const SimilarityOptions& options);

// Mean squares of the elements of a sample.
struct SampleEnergy {
  double signal = 0, noise = 0;
};

// Gathers one pair over its samples. A sample whose shapes differ by more than axes of size 1 makes
// the pair a shape mismatch.
class PairAccumulator {
 public:
  PairAccumulator(std::string name, const SimilarityOptions& options);
  void add(std::int64_t sample, const TensorView& reference, const TensorView& candidate);
  void add(std::int64_t sample, const PairSample& measured);
  PairResult result() const;

 private:
  PairResult pair_;
  SimilarityOptions options_;
  SimilarityAccumulator similarity_;
  std::vector<SampleEnergy> energies_;
  std::vector<double> equal_shares_;
};

// The names that limits may use: every metric, and every metric with _mean, _std, _min or _max. The
// plain name stands for the worst sample.
std::vector<std::string> pair_limit_metrics();

// Metrics that cost another pass are measured only if a limit names them.
SimilarityOptions measured_for(std::span<const Limit> limits);

// The failures of the pairs, which are of a `group`: "output", "array". A pair that could not be
// compared, or holds NaN or infinity on either side, fails whatever the limits. An empty pair fails
// the limits on it, as unmeasured.
std::vector<Failure> judge_pairs(std::span<const PairResult> pairs, const std::string& group,
                                 std::span<const Limit> limits);

}  // namespace vernier
