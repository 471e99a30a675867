#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "vernier/analysis/evidence/calibration_fit.h"
#include "vernier/analysis/inputs/sequence.h"
#include "vernier/analysis/parts/record.h"
#include "vernier/metrics/token_scores.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Everything that a comparison keeps of one sample; results over many samples are pooled from it.
struct ComparedSample {
  std::int64_t number = 0;
  // The outputs of the sample's first run: name, dtype and shape, without bytes.
  std::vector<Tensor> reference_outputs, candidate_outputs;
  std::vector<SequenceSample> outputs, exact, before;  // one for each pair
  std::vector<SequenceSample> parts;                   // one for each part of an output
  std::vector<std::vector<TensorSketch>> sketches;     // of the reference: by pair, by run
  std::vector<QuantizerUse> uses;
  std::optional<std::string> nan_input;  // the first that holds NaN, or infinity that shows
  // The candidate's first tensor with NaN; empty if not found, nullopt if there is no NaN to trace.
  std::optional<std::string> nan_tensor;
};

// Copies with name, dtype and shape, but without elements.
inline std::vector<Tensor> without_bytes(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> described;
  for (const Tensor& tensor : tensors)
    described.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape});
  return described;
}

constexpr DType last_value(DType) { return static_cast<DType>(dtype_count - 1); }
constexpr PairStatus last_value(PairStatus) { return PairStatus::only_in_candidate; }

template <typename Archive>
void fields(Archive& archive, Tensor& described) {
  archive(described.name, described.dtype, described.shape);
}

template <typename Archive>
void fields(Archive& archive, Similarity& s) {
  archive(s.count, s.sqnr_db, s.psnr_db, s.cosine_similarity, s.mse, s.max_abs_diff,
          s.mean_abs_diff, s.relative_l2, s.max_ulp_diff, s.p999_ulp_diff, s.argmax_agreement,
          s.max_abs_diff_index, s.reference_nan, s.reference_inf, s.candidate_nan, s.candidate_inf);
}

template <typename Archive>
void fields(Archive& archive, KlSum& kl) {
  archive(kl.sum, kl.rows);
}

template <typename Archive>
void fields(Archive& archive, PairSample& pair) {
  archive(pair.status, pair.reference_dtype, pair.candidate_dtype, pair.reference_shape,
          pair.candidate_shape, pair.layout, pair.similarity, pair.equal_share);
}

template <typename Archive>
void fields(Archive& archive, WorstStep& worst) {
  archive(worst.sample, worst.step, worst.sqnr_db);
}

template <typename Archive>
void fields(Archive& archive, SequenceSample& sample) {
  archive(sample.pairs, sample.worst_step);
}

template <typename Archive>
void fields(Archive& archive, QuantizerUse& use) {
  archive(use.largest, use.clipped, use.elements);
}

// Elements that float32 holds exactly, as most do, are stored in float32: half the bytes.
template <typename Archive>
void fields(Archive& archive, TensorSketch& sketch) {
  std::vector<float> narrow(sketch.elements.begin(), sketch.elements.end());
  bool is_narrow = std::ranges::equal(narrow, sketch.elements);
  archive(sketch.size, sketch.hash, is_narrow);
  if (!is_narrow) return archive(sketch.elements);
  archive(narrow);
  if constexpr (std::is_same_v<Archive, RecordReader>)
    sketch.elements.assign(narrow.begin(), narrow.end());
}

template <typename Archive>
void fields(Archive& archive, ComparedSample& sample) {
  archive(sample.number, sample.reference_outputs, sample.candidate_outputs, sample.outputs,
          sample.exact, sample.before, sample.parts, sample.sketches, sample.uses, sample.nan_input,
          sample.nan_tensor);
}

}  // namespace vernier
