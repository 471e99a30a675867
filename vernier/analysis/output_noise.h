#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vernier/metrics/bootstrap.h"

namespace vernier {

// Two sums over samples, sample by sample: of an output the squared errors and the squared
// reference, of a decoder the KL of its tokens, in nats, and their number.
struct SampledRatio {
  std::string name;  // of the output
  std::vector<double> over, under;
  double value() const;  // of the sums; NaN for no samples
  // With each sample left out in turn.
  std::vector<double> without_each() const;
};

// The error at a model's outputs against the float model. Every output counts alike: its noise is
// relative to its own signal.
struct OutputNoise {
  std::vector<SampledRatio> outputs;    // that hold floats other than 0
  std::optional<SampledRatio> kl = {};  // of a decoder
  double total() const;                 // the mean over outputs; 0 where there are none
  double kl_mean() const;               // in nats; NaN: not measured
  // What is to be least: KL where there is one, else the noise.
  double score() const;
  double of_sample(std::size_t sample) const;  // its part of the total
  std::int64_t samples() const;
  OutputNoise first(std::int64_t samples) const;  // of these alone
};

double noise_db(double noise);

// 95% intervals over the choice of samples; NaN for fewer than three samples.
ConfidenceInterval sqnr_interval(const OutputNoise& noise);
ConfidenceInterval sqnr_interval(const SampledRatio& output);
ConfidenceInterval kl_interval(const OutputNoise& noise);
// Of the change between two measurements of the same samples, which are paired: the noise of the
// first over that of the second in dB, likewise of KL, and KL of the second less the first.
ConfidenceInterval gain_interval(const OutputNoise& before, const OutputNoise& after);
ConfidenceInterval kl_gain_interval(const OutputNoise& before, const OutputNoise& after);
ConfidenceInterval kl_change_interval(const OutputNoise& before, const OutputNoise& after);

struct OutputFigure {
  std::string name;
  double sqnr_db = 0;  // inf for no noise
  ConfidenceInterval interval;
  // The end of the interval that is worse, where there is one.
  double surely() const;
  bool operator==(const OutputFigure&) const = default;
};
struct OutputChange {
  std::string name;
  double before_db = 0, after_db = 0;
  bool operator==(const OutputChange&) const = default;
};
// Of each output of several; none of a single one.
std::vector<OutputChange> changes_of(const OutputNoise& before, const OutputNoise& after);
std::vector<OutputFigure> figures_of(const OutputNoise& noise);
const OutputFigure& worst_of(const std::vector<OutputFigure>& figures);  // of one or more

// In dB, at most 300 either way; 0 for none over none.
double gain_db(double before, double after);

}  // namespace vernier
