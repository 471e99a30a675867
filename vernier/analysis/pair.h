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

// Of samples that are sequences: the step, counted from 0, whose SQNR is lowest.
struct WorstStep {
  std::int64_t sample = 0, step = 0;
  double sqnr_db = 0;
  bool operator==(const WorstStep&) const = default;
};

// A reference tensor and the candidate tensor that should equal it, over all samples.
struct PairResult {
  std::string name;
  PairStatus status = PairStatus::compared;
  DType reference_dtype = DType::f32;  // of a side that is there
  DType candidate_dtype = DType::f32;
  Shape reference_shape;
  Shape candidate_shape;
  SimilaritySummary similarity;  // of the samples that could be compared
  // Of class ids and the like, the share of elements that are the reference's; nothing of floats.
  std::optional<double> equal_share;
  // What makes a shape mismatch agree, if anything does; of a pair that was compared, the axes of
  // size 1 that only one side has.
  std::string layout;
  std::optional<WorstStep> worst_step;  // nothing where a sample is one run
  // The lowest SQNR of a sample whose signal counts as the mean of all where it is below that:
  // little noise is much beside a signal of almost nothing. NaN where a sample's SQNR is.
  double worst_against_mean_db = 0;
  // The signal of all samples that have noise over their noise.
  double pooled_sqnr_db = 0;
  bool operator==(const PairResult&) const = default;
};

// A tensor that the other side does not have.
PairResult one_sided(const Tensor& tensor, PairStatus status);

// What one sample shows of a pair.
struct PairSample {
  PairStatus status = PairStatus::compared;
  DType reference_dtype = DType::f32;
  DType candidate_dtype = DType::f32;
  Shape reference_shape;
  Shape candidate_shape;
  std::string layout;                 // as PairResult has it
  Similarity similarity;              // of a pair that could be compared
  std::optional<double> equal_share;  // as PairResult has it
  bool operator==(const PairSample&) const = default;
};

PairSample measure_pair(const TensorView& reference, const TensorView& candidate,
                        const SimilarityOptions& options);

// Of a sample, a mean of squares.
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

// Names that limits may use: every metric, and every metric with _mean, _std, _min or _max. The
// plain name stands for the worst sample.
std::vector<std::string> pair_limit_metrics();

// What costs another pass is measured where a limit names it.
SimilarityOptions measured_for(std::span<const Limit> limits);

// What limits and NaN say of the pairs, each of which is a `group`: "output", "array". A pair that
// could not be compared, or holds NaN or infinity on either side, fails whatever the limits.
std::vector<Failure> judge_pairs(std::span<const PairResult> pairs, const std::string& group,
                                 std::span<const Limit> limits);

}  // namespace vernier
