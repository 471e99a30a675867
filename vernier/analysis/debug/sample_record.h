#pragma once

#include <string>
#include <type_traits>

#include "vernier/analysis/compare/compared_sample.h"
#include "vernier/analysis/debug/observe.h"
#include "vernier/analysis/parts/record.h"

namespace vernier {

// Serialization of one sample's sums.

template <typename Archive>
void fields(Archive& archive, NoiseSums& sums) {
  archive(sums.count, sums.reference_squares, sums.difference_squares);
}

template <typename Archive>
void fields(Archive& archive, ObservedValues& observed) {
  archive(observed.count, observed.low, observed.high, observed.clipped, observed.clipping_noise,
          observed.clipped_above);
}

template <typename Archive>
void fields(Archive& archive, TensorSums& sums) {
  archive(sums.local, sums.intended, sums.cumulative, sums.introduced, sums.signal, sums.observed,
          sums.nonfinite, sums.nonfinite_inputs);
}

template <typename Archive>
void fields(Archive& archive, OutputSums& sums) {
  archive(sums.name, sums.status, sums.cumulative, sums.nonfinite, sums.reference_shape,
          sums.candidate_shape, sums.reference_in_place, sums.kl);
}

template <typename Archive>
void fields(Archive& archive, ValueHistogram& histogram) {
  std::string packed = histogram.packed();
  archive(packed);
  if constexpr (std::is_same_v<Archive, RecordReader>) histogram = ValueHistogram::unpacked(packed);
}

template <typename Archive>
void fields(Archive& archive, SampleSums& sums) {
  archive(sums.tensors, sums.order, sums.outputs, sums.histograms);
}

}  // namespace vernier
