#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/metrics/bootstrap.h"

namespace vernier {

// Two sums over samples, kept sample by sample. Of an output: the squared errors over the squared
// reference. Of a decoder: the KL of its tokens, in nats, over their number.
struct SampledRatio {
  std::string name;  // of the output
  std::vector<double> over, under;
  double value() const;  // ratio of the sums; NaN if there are no samples
  // The ratio with each sample left out in turn.
  std::vector<double> without_each() const;
};

// The error at a model's outputs against the float model. All outputs have the same weight: the
// noise of each is relative to its own signal.
struct OutputNoise {
  std::vector<SampledRatio> outputs;    // that hold floats other than 0
  std::optional<SampledRatio> kl = {};  // of a decoder
  double total() const;                 // the mean over outputs; 0 if there are none
  double kl_mean() const;               // in nats; NaN if not measured
  // The figure to minimise: KL if it was measured, else the noise.
  double score() const;
  double of_sample(std::size_t sample) const;  // the sample's contribution to total()
  std::int64_t samples() const;
  OutputNoise first(std::int64_t samples) const;  // of the first `samples` alone
};

double noise_db(double noise);

// 95% intervals over the choice of samples; NaN for fewer than three samples.
ConfidenceInterval sqnr_interval(const OutputNoise& noise);
ConfidenceInterval sqnr_interval(const SampledRatio& output);
ConfidenceInterval kl_interval(const OutputNoise& noise);
// Intervals of the change between two measurements of the same samples, which are paired: the noise
// before over the noise after in dB, KL before over KL after in dB, and KL after minus KL before.
ConfidenceInterval gain_interval(const OutputNoise& before, const OutputNoise& after);
ConfidenceInterval kl_gain_interval(const OutputNoise& before, const OutputNoise& after);
ConfidenceInterval kl_change_interval(const OutputNoise& before, const OutputNoise& after);

struct OutputFigure {
  std::string name;
  double sqnr_db = 0;  // inf if there is no noise
  ConfidenceInterval interval;
  // The worse end of the interval; sqnr_db itself if there is no interval.
  double surely() const;
  bool operator==(const OutputFigure&) const = default;
};
struct OutputChange {
  std::string name;
  double before_db = 0, after_db = 0;
  bool operator==(const OutputChange&) const = default;
};
// Figures of each output. changes_of() is empty if there is only one output.
std::vector<OutputChange> changes_of(const OutputNoise& before, const OutputNoise& after);
std::vector<OutputFigure> figures_of(const OutputNoise& noise);
const OutputFigure& worst_of(const std::vector<OutputFigure>& figures);  // requires at least one

// The cosine of the first elements of both, as many as the shorter has; NaN if a side is zero.
double cosine(std::span<const float> first, std::span<const float> second);

// In dB, from -300 to 300; 0 if both are 0.
double gain_db(double before, double after);

}  // namespace vernier
