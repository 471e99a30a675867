#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/alone.h"
#include "vernier/analysis/quantize/calibrate.h"
#include "vernier/analysis/quantize/score.h"
#include "vernier/analysis/quantize/write.h"

namespace vernier {

enum class Effort {
  fast,    // per channel, and one range rule for all tensors: minmax where none is tried
  normal,  // choices that hold for all tensors
  tune     // every tensor, until nothing is gained any more
};

// Something that was tried on samples that calibration did not see.
struct Decision {
  std::string choice;                  // "ranges: mse", "bias correction"
  std::string subject;                 // a tensor; empty: all
  double sqnr_db = 0;                  // at the output, with it
  Gain gain;                           // over what was in force
  bool kept = false;                   // the gain is more than its interval
  std::optional<double> kl_mean = {};  // of a decoder, with it: the gain is of it
  bool operator==(const Decision&) const = default;
};

// Kept where the gain is more than its interval. A score of the first samples only is that of a
// choice that lost on them; its SQNR is then that of all, less what was lost.
Decision decide(std::string choice, const OutputScore& before, const OutputScore& tried);

// What choices are tried on.
struct SearchSubject {
  const Model& reference;                 // in float
  std::span<const PlacedNode> nodes;      // whose biases may be corrected
  std::span<const PlacedWeight> weights;  // whose scales may be chosen
  const CalibrationValues& values;
  const OutputScorer& scorer;  // on samples other than the calibration's
  const SampleRuns& calibration;
  std::function<Model(const QuantizationChoices&)> write;
  // The noise at the outputs with one tensor quantized and nothing else, of each trial; null: no
  // tensor is tried by itself.
  std::function<std::vector<OutputNoise>(std::span<const RangeTrial>, int bits)> noise_alone = {};
  Effort effort = Effort::normal;
  std::function<bool()> go_on = [] { return true; };  // false: stop with what there is
  // The ranges that a tensor may have: applied to each that is tried.
  std::function<CalibratedRange(const std::string& root, CalibratedRange)> confine =
      [](const std::string&, CalibratedRange range) { return range; };
};

struct SearchResult {
  QuantizationChoices choices;
  std::vector<Decision> decisions;
  OutputScore score;  // of the choices
};

// The choices, changed wherever that lessens the error at the output by more than its interval.
// `score` is theirs, where it was measured before.
SearchResult search_choices(const SearchSubject& subject, QuantizationChoices choices,
                            std::optional<OutputScore> score = {});

}  // namespace vernier
