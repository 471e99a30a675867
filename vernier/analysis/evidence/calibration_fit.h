#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/runtime/ort_options.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// How far a quantizer's range is used by what goes into it, over one sample or several.
struct QuantizerUse {
  double largest = 0;        // observed, on the sides of zero that count
  std::int64_t clipped = 0;  // elements beyond the range there
  std::int64_t elements = 0;
  bool operator==(const QuantizerUse&) const = default;
};
QuantizerUse pool(const QuantizerUse& first, const QuantizerUse& second);

// Whether inputs are like those that a model's quantizers were calibrated on.
struct CalibrationFit {
  // S: the mean of |log2(largest observed / largest representable)| over the quantizers, and 100
  // times the mean share that is surely clipped. Real data give 0.07 to 0.43, noise mostly more
  // than 0.4.
  double score = 0;
  double without_worst = 0;      // S without the quantizer that fits worst
  std::string most_clipped;      // the tensor whose quantizer most surely clips, and
  double clipped_share = 0;      // how much of it
  double surely_clipped = 0;     // at least, of such inputs: a few elements tell little
  std::string most_overflowed;   // the tensor that exceeds its quantizer's range most, and
  double overflow = 0;           // its largest value over the largest representable
  std::string overflowed_input;  // the same of the model's inputs
  double input_overflow = 0;
  std::int64_t quantizers = 0;
  bool operator==(const CalibrationFit&) const = default;
};

// A quantizer's range beside what goes into it.
struct UsedRange {
  std::string name;          // of the tensor
  double representable = 0;  // the largest, on the sides of zero that count
  QuantizerUse use;
  bool bounded = false;      // by a Clip and the like: how far it is used says little of the inputs
  bool zeros_alone = false;  // calibrated on nothing else, and so has no range of its own
  bool is_input = false;     // of the model
};

// Of the quantizers that something went into.
CalibrationFit fit_of(std::span<const UsedRange> ranges);

// S without the quantizer that it is worst for, where there are several: one whose range is wrong
// says nothing of the inputs.
double score_without_worst(std::span<const UsedRange> ranges);

inline constexpr double fitting_score = 0.40;  // at most, of inputs like the calibration data
// Of real ones, which are a few: another preprocessing is an octave off or more.
inline constexpr double fitting_real_score = 0.80;
inline constexpr double most_score(bool real_inputs) {
  return real_inputs ? fitting_real_score : fitting_score;
}
inline constexpr double most_clipped_share = 0.03;
inline constexpr double most_overflow =
    2.4;  // picked inputs of right pairs exceed a range 1.7 times

// Runs a quantized model in exact arithmetic and watches what goes into its activation quantizers:
// those per tensor of integers. The side of zero where a quantizer has no codes stands for a Relu
// and does not count; of a quantizer whose tensor an operator bounds (Clip, Softmax...), in either
// model, only what exceeds it in the reference does.
class CalibrationProbe {
 public:
  enum class Watched {
    candidate,  // but for the quantizers of operators, whose inputs show in the reference alone
    reference   // the counterpart of each: what would go in were nothing quantized
  };
  // `reference` may be null where the candidate is watched. Both must outlive it.
  CalibrationProbe(const Model& candidate, const Model* reference, const OrtOptions& runtime,
                   Watched watched = Watched::candidate);
  ~CalibrationProbe();
  CalibrationProbe(CalibrationProbe&&) noexcept;

  std::size_t quantizers() const;

  struct Sample {
    std::vector<Tensor> outputs;     // in exact arithmetic; none where the reference is watched
    std::vector<QuantizerUse> uses;  // of each quantizer
  };
  Sample run(std::span<const Tensor> inputs);

  // Each quantizer's range beside its use, of quantizers() uses pooled over samples.
  std::vector<UsedRange> ranges(std::span<const QuantizerUse> uses) const;
  CalibrationFit fit(std::span<const QuantizerUse> uses) const { return fit_of(ranges(uses)); }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What one sample shows of how a tensor changes from sample to sample: its elements, of a large one
// some from all over it.
struct TensorSketch {
  std::vector<double> elements;
  std::int64_t size = 0;   // of the tensor
  std::uint64_t hash = 0;  // of all its bytes
  bool operator==(const TensorSketch&) const = default;
};

inline constexpr std::int64_t sketched_elements = 4096;  // at most
TensorSketch sketch_of(const TensorView& tensor);

// Variance between samples over the energy of a tensor: 0 when all are the same. Add samples of one
// shape; others are left out.
class Diversity {
 public:
  void add(const TensorView& tensor) { add(sketch_of(tensor)); }
  void add(const TensorSketch& sketch);
  double value() const;  // 1 for fewer than two samples
  bool is_constant() const { return value() == 0 && !other_sizes_ && !other_elements_; }
  bool is_zero() const { return squares_ == 0; }

 private:
  std::vector<double> sums_;
  double squares_ = 0;
  std::int64_t samples_ = 0, size_ = 0;
  std::uint64_t hash_ = 0;       // of the first sample
  bool other_sizes_ = false;     // of samples that were left out
  bool other_elements_ = false;  // of a large tensor, whether among those that are added or not
};

}  // namespace vernier
