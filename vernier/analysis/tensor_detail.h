#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// A picture of a plane of a tensor, reduced to at most 40 x 40: values in 255 steps from `low` to
// `high`, and the candidate's error in 127 steps up to `error`, 128 standing for none.
struct TensorSlice {
  std::string label;  // "[0,3,:,:]"
  std::int64_t rows = 0, columns = 0;
  double low = 0, high = 0, error = 0;
  std::vector<std::uint8_t> reference, difference;
  bool operator==(const TensorSlice&) const = default;
};

// What is kept of a pair of tensors of one sample for people to look at, about 20 kB.
struct TensorDetail {
  Shape shape;
  double low = 0, high = 0;  // of all three histograms, which are on one axis
  std::vector<std::uint32_t> reference, candidate, error;
  double mean_abs_error = 0;
  Shape worst;  // index of the element with the largest error
  double worst_reference = 0, worst_candidate = 0;
  int channel_axis = 0;
  std::vector<float> channel_error, channel_signal;  // root mean squares
  std::vector<TensorSlice> slices;                   // the worst planes first
  bool operator==(const TensorDetail&) const = default;
};

// The tensors have as many elements; the candidate's shape holds for both. NaN and infinity are
// left out of everything but the worst element.
TensorDetail describe_detail(const TensorView& reference, const TensorView& candidate);

// Shows a pair of the first sample as it passes: the row of the result that it is ("layer",
// "tensor" or "output", and its name), the reference's tensor and the candidate's.
using ShowPair = std::function<void(const std::string& group, const std::string& name,
                                    const TensorView& reference, const TensorView& candidate)>;

// What was recorded while the tensors passed, by group and name.
class DetailRecord {
 public:
  using Key = std::pair<std::string, std::string>;

  // Records every pair that is shown. The record must outlive what is returned.
  ShowPair recorder();
  const TensorDetail* find(const Key& key) const;

 private:
  std::map<Key, TensorDetail> details_;
};

}  // namespace vernier
