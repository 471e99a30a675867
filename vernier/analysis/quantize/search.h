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
  fast,    // per-channel weights and one range rule for all tensors; quantize() uses minmax
  normal,  // choices that apply to all tensors
  tune     // also choices for single tensors, until nothing is gained
};

// A choice that was tried on the choosing samples, which calibration did not use.
struct Decision {
  std::string choice;                  // "ranges: mse", "bias correction"
  std::string subject;                 // tensor or node; empty for the whole model
  double sqnr_db = 0;                  // at the output, with this choice
  Gain gain;                           // over the choices in use before
  bool kept = false;                   // whether the choice was applied
  std::optional<double> kl_mean = {};  // of a decoder, with this choice; the gain is in KL
  bool operator==(const Decision&) const = default;
};

// Keeps a choice if its gain is proven. If `tried` covers only the first samples, the choice lost
// on them and is not kept; its SQNR is then estimated as that of `before` plus the (negative) gain.
Decision decide(std::string choice, const OutputScore& before, const OutputScore& tried);

// The model that choices are tried on.
struct SearchSubject {
  const Model& reference;                 // the float model
  std::span<const PlacedNode> nodes;      // whose biases may be corrected
  std::span<const PlacedWeight> weights;  // whose scales may be chosen
  const CalibrationValues& values;
  const OutputScorer& scorer;  // on the choosing samples
  const SampleRuns& calibration;
  std::function<Model(const QuantizationChoices&)> write;
  // The output noise of each trial with its tensor alone quantized; null to skip such trials.
  std::function<std::vector<OutputNoise>(std::span<const RangeTrial>, int bits)> noise_alone = {};
  Effort effort = Effort::normal;
  std::function<bool()> go_on = [] { return true; };  // false to stop with the choices found so far
  // Limits a range before it is tried.
  std::function<CalibratedRange(const std::string& root, CalibratedRange)> confine =
      [](const std::string&, CalibratedRange range) { return range; };
};

struct SearchResult {
  QuantizationChoices choices;
  std::vector<Decision> decisions;
  OutputScore score;  // of the choices
};

// Changes the choices wherever that provably lessens the error at the output. `score` is that of
// the initial choices; they are scored if it is nullopt.
SearchResult search_choices(const SearchSubject& subject, QuantizationChoices choices,
                            std::optional<OutputScore> score = {});

}  // namespace vernier
