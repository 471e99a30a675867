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

class ModelIndex;
struct Quantizer;

// How far the values that go into a quantizer use its range, over one sample or several.
struct QuantizerUse {
  double largest = 0;        // largest magnitude observed, on the sides of zero that count
  std::int64_t clipped = 0;  // elements beyond the range, on these sides
  std::int64_t elements = 0;
  bool operator==(const QuantizerUse&) const = default;
};
QuantizerUse pool(const QuantizerUse& first, const QuantizerUse& second);

inline constexpr double fitting_score = 0.40;  // calibration-like inputs score at most this
// For real inputs: they are few samples, and wrong preprocessing is off by an octave or more.
inline constexpr double fitting_real_score = 0.80;
inline constexpr double most_score(bool real_inputs) {
  return real_inputs ? fitting_real_score : fitting_score;
}

// Whether inputs are like those that a model's quantizers were calibrated on.
struct CalibrationFit {
  // S: the mean over the quantizers of |log2(largest observed / largest representable)| plus 100
  // times the share that is surely clipped. Real data give 0.07 to 0.43, noise mostly more than
  // 0.4.
  double score = 0;
  double without_worst = 0;      // S without the quantizer that fits worst
  std::string most_clipped;      // tensor with the largest `surely_clipped`; empty if none clips
  double clipped_share = 0;      // clipped elements / elements of that tensor
  double surely_clipped = 0;     // lower bound of its share at 95 % confidence
  std::string most_overflowed;   // tensor that exceeds its quantizer's range most
  double overflow = 0;           // its largest observed / largest representable value
  std::string overflowed_input;  // the model input that exceeds its range most
  double input_overflow = 0;
  std::int64_t quantizers = 0;
  bool fits(bool real_inputs) const { return score <= most_score(real_inputs); }
  bool operator==(const CalibrationFit&) const = default;
};

// A quantizer's range and the values that go into it.
struct UsedRange {
  std::string name;          // of the quantized tensor
  double representable = 0;  // largest magnitude, on the sides of zero that count
  QuantizerUse use;
  bool bounded = false;      // by a Clip or the like: its use says little of the inputs
  bool zeros_alone = false;  // calibrated on zeros only, so its range has no meaning
  bool is_input = false;     // the tensor is an input of the model
  bool is_wide = false;      // of 16 bits, where an octave of room costs next to nothing
};

// As UsedRange::is_wide.
bool is_wide(const Quantizer& quantizer);

// Ranges that no element went into do not count.
CalibrationFit fit_of(std::span<const UsedRange> ranges);

// S without the quantizer that fits worst, if there are several: a single wrong range says nothing
// of the inputs.
double score_without_worst(std::span<const UsedRange> ranges);

inline constexpr double most_clipped_share = 0.03;
inline constexpr double most_overflow = 2.4;  // synthetic inputs reach 1.7 in correct candidates

// Options for a run in exact arithmetic: unoptimised and on the CPU, whatever the provider is.
OrtOptions in_exact_arithmetic(OrtOptions runtime);

// Runs a quantized model in exact arithmetic and observes the input of each activation quantizer
// that is per tensor and of an integer type. A side of zero without codes does not count: the
// quantizer cuts off that side as a Relu does. A tensor that an operator bounds (Clip, Softmax...)
// in either model is observed in the reference, and only its overflow counts.
class CalibrationProbe {
 public:
  enum class Watched {
    candidate,  // the quantizers' inputs; of integer operators, in the reference
    reference   // each input's counterpart, which no quantizer affects
  };
  // `reference` may be null if the candidate is watched. Both models must outlive the probe.
  CalibrationProbe(const ModelIndex& candidate, const ModelIndex* reference,
                   const OrtOptions& runtime, Watched watched = Watched::candidate);
  ~CalibrationProbe();
  CalibrationProbe(CalibrationProbe&&) noexcept;

  std::size_t quantizers() const;

  struct Sample {
    std::vector<Tensor> outputs;     // in exact arithmetic; empty if the reference is watched
    std::vector<QuantizerUse> uses;  // one for each quantizer
  };
  Sample run(std::span<const Tensor> inputs);

  // The range of each quantizer with its use; `uses` has quantizers() entries, pooled over samples.
  std::vector<UsedRange> ranges(std::span<const QuantizerUse> uses) const;
  CalibrationFit fit(std::span<const QuantizerUse> uses) const { return fit_of(ranges(uses)); }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One sample of a tensor, to measure how the tensor changes between samples: all elements, or, of a
// large tensor, a subset from all over it.
struct TensorSketch {
  std::vector<double> elements;
  std::int64_t size = 0;   // elements of the tensor
  std::uint64_t hash = 0;  // of all its bytes
  bool operator==(const TensorSketch&) const = default;
};

inline constexpr std::int64_t sketched_elements = 4096;  // at most
TensorSketch sketch_of(const TensorView& tensor);

// Variance of a tensor between samples / its energy: 0 if all samples are equal. Samples of another
// size than the first are left out.
class Diversity {
 public:
  void add(const TensorView& tensor) { add(sketch_of(tensor)); }
  void add(const TensorSketch& sketch);
  double value() const;                         // 1 for fewer than two samples
  bool is_empty() const { return size_ == 0; }  // the samples have no elements
  bool is_constant() const { return value() == 0 && !other_sizes_ && !other_elements_; }
  bool is_zero() const { return squares_ == 0; }

 private:
  std::vector<double> sums_;
  double squares_ = 0;
  std::int64_t samples_ = 0, size_ = 0;
  std::uint64_t hash_ = 0;       // of the first sample
  bool other_sizes_ = false;     // samples of another size were left out
  bool other_elements_ = false;  // a large tensor's bytes changed, maybe outside the sketch
};

}  // namespace vernier
