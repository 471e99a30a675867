#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// A plane of a tensor as an image of at most 40 x 40: values in 255 steps from `low` to `high`, and
// the candidate's error in 127 steps up to `error` to either side of 128, which is no error.
struct TensorSlice {
  std::string label;  // "[0,3,:,:]"
  std::int64_t rows = 0, columns = 0;
  double low = 0, high = 0, error = 0;
  std::vector<std::uint8_t> reference, difference;
  bool operator==(const TensorSlice&) const = default;
};

// What is kept of a pair of tensors of one sample for display, about 20 kB.
struct TensorDetail {
  Shape shape;
  double low = 0, high = 0;  // the range of all three histograms
  std::vector<std::uint32_t> reference, candidate, error;
  double mean_abs_error = 0;
  Shape worst;  // index of the element with the largest error
  double worst_reference = 0, worst_candidate = 0;
  int channel_axis = 0;
  std::vector<float> channel_error, channel_signal;  // root mean squares
  std::vector<TensorSlice> slices;                   // the planes with most noise first
  bool operator==(const TensorDetail&) const = default;
};

// Requires equally many elements; the candidate's shape is used for both. NaN and infinity are left
// out of everything except the worst element.
TensorDetail describe_detail(const TensorView& reference, const TensorView& candidate);

// Called with each pair of tensors of the first sample: the row of the result that it belongs to
// ("layer", "tensor" or "output", and its name), the reference's tensor and the candidate's.
using ShowPair = std::function<void(const std::string& group, const std::string& name,
                                    const TensorView& reference, const TensorView& candidate)>;

// The details of all pairs that were shown, by group and name.
class DetailRecord {
 public:
  using Key = std::pair<std::string, std::string>;

  // Returns a function that records every pair. This object must outlive it.
  ShowPair recorder();
  const TensorDetail* find(const Key& key) const;

 private:
  std::map<Key, TensorDetail> details_;
};

}  // namespace vernier
